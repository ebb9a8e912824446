"""A conversation with a server that has a standby catalogue, over its sockets."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from tests.support.raw import ask, call, post_2026

SOON = 30.0
META = {"com.mangaassist/sessionId": "s"}


@dataclass
class Shop:
    """A customer of the server."""

    port: int

    async def ask(self, tool: str, arguments: dict[str, Any], turn: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The result and what is said of the call."""
        asked = call(tool, arguments, {**META, "com.mangaassist/turnId": turn})
        result = (await post_2026(self.port, asked))["result"]
        return result["structuredContent"], result["_meta"]["com.mangaassist/call"]

    async def until(self, tool: str, arguments: dict[str, Any], fallback: str | None) -> Any:
        """The first answer of this fallback: on a machine that is busy with other work a search may come too late at first,
        and the rung below answers. How soon it has to come is tested in virtual time."""
        async with asyncio.timeout(SOON):
            answer, told = await self.ask(tool, arguments, f"until-{fallback}")
            while told.get("fallback") != fallback or "source" not in told:
                await asyncio.sleep(0.1)
                answer, told = await self.ask(tool, arguments, f"until-{told['callId']}")
            return answer, told

    async def standby(self) -> dict[str, Any]:
        answer = await ask(self.port, "GET", "/readyz")
        assert answer.status == 200
        state: dict[str, Any] = answer.json()["dependencies"]["standby"]
        return state

    async def until_loaded(self) -> None:
        async with asyncio.timeout(SOON):
            while (await self.standby())["state"] != "ok":
                await asyncio.sleep(0.2)
