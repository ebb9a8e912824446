"""A server as production runs it, and the agent's line to it: the official client over SSE."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.shared.exceptions import MCPError

from tests.conversations.agent import Agent, Heard
from tests.conversations.shelf import Json, Shelf
from tests.support.answers import RpcError, meta_of
from tests.support.clients import Connections, OfSdk
from tests.support.serving import served, wait_for_meaning

TRANSPORT = "sse-2026"
SWITCHED_ON = {"enable_price_comparison_tool": True}
"""A tool that is off by itself is on; looking into volumes stays off, so that conversations meet a tool that is."""


@dataclass(frozen=True, slots=True)
class SdkLine:
    client: OfSdk

    async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard:
        try:
            return await getattr(self, f"_{how}")(name, arguments, stated)
        except (RpcError, MCPError) as error:
            return Heard({"error": _refused(error if isinstance(error, RpcError) else error.error)})

    async def _tool(self, name: str, arguments: Json, stated: Json) -> Heard:
        answer = await self.client.call(name, arguments, **stated)
        return Heard(answer.structured, bool(answer.call.get("degraded")) or answer.call.get("source") == "fallback")

    async def _reads(self, uri: str, arguments: Json, stated: Json) -> Heard:
        held = self.client.held
        read = await held.ask(self.client.sdk.read_resource(uri, meta=meta_of(stated), cache_mode="bypass"))
        return Heard(_parsed("\n".join(each.text for each in read.contents)))

    async def _prompt(self, name: str, arguments: Json, stated: Json) -> Heard:
        held = self.client.held
        got = await held.ask(self.client.sdk.get_prompt(name, arguments, meta=meta_of(stated)))
        return Heard({"text": "\n".join(each.content.text for each in got.messages), "description": got.description})


@contextmanager
def open_shop(folder: Path) -> Iterator[Agent]:
    """Ready once the catalogue's vectors are there. To be opened from the main thread."""
    flags = folder / "flags.json"
    flags.write_text(json.dumps(SWITCHED_ON), "utf-8")
    cache = folder / "cache"
    with served(folder / "server", cache, MANGA_EMBEDDER="local", MANGA_FLAGS_URL=flags.as_uri()) as serving:
        wait_for_meaning(serving)
        with closing(Connections(folder / "clients", cache)) as connections:
            client = connections.open(TRANSPORT, serving.url)
            assert isinstance(client, OfSdk)
            yield Agent(SdkLine(client), Shelf.of_the_demo())


def _parsed(text: str) -> Json:
    """What is no JSON object is a text."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": text}


def _refused(error: object) -> Json:
    data = getattr(error, "data", None) or {}
    named = data.get("name", "REFUSED") if isinstance(data, dict) else "REFUSED"
    return {
        "name": named,
        "code": getattr(error, "code", None),
        "message": str(getattr(error, "message", error)),
        "data": data,
    }
