"""An agent without a framework: JSON-RPC over HTTP (MCP 2026-07-28). A turn has 3 s and, after 3 calls, no more calls."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from infra.agent.words import tell_known

SECONDS, CALLS, TOKENS = 2.9, 3, 2000
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
ERA = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
Json = dict[str, Any]
Think = Callable[[list[Json], list[Json]], Awaitable[str | list[tuple[str, Json]]]]
"""A model: maps (messages, tools) to its answer, or to a list of calls to make together."""


async def answer(url: str, think: Think, session: str, user: str, question: str) -> str:
    until, turn, made, found = time.monotonic() + SECONDS, uuid.uuid4().hex, 0, list[Json]()
    who = {"X-Session-ID": session, "X-User-ID": user, "X-Turn-ID": turn, "X-Token-Budget": str(TOKENS)}

    async def ask(method: str, **params: Any) -> Json:
        left_ms = max(0, round((until - time.monotonic()) * 1000))
        left = {"X-Turn-Budget-Ms": str(left_ms), "X-Expected-Calls": str(max(1, 2 - made))}
        named = {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if params else {})}
        posted = {"jsonrpc": "2.0", "id": made, "method": method, "params": {**params, "_meta": ERA}}
        return dict((await http.post("/mcp", json=posted, headers=named | left)).json()["result"])

    async def call(name: str, arguments: Json) -> Json:
        """Calls a tool; retries once if the error is retryable and time is left."""
        result = await ask("tools/call", name=name, arguments=arguments)
        failed = result["structuredContent"].get("error", {}).get("data", {})
        wait = (failed.get("retry_after_ms") or 0) / 1000
        if failed.get("retryable") and time.monotonic() + wait < until:
            await asyncio.sleep(wait)
            result = await ask("tools/call", name=name, arguments=arguments)
        return result

    async with httpx.AsyncClient(base_url=url, headers=HEADERS | who) as http:
        try:
            async with asyncio.timeout(SECONDS):
                past = (await http.get(f"/sessions/{session}", params={"query": question})).json()
                rules = await ask("prompts/get", name="shopping_assistant", arguments={"language": "en"})
                tools = (await ask("tools/list"))["tools"]
                messages = [*rules["messages"], {"role": "user", "content": f"{past.get('summary', '')}\n{question}"}]
                while isinstance(wanted := await think(messages, tools), list) and made < CALLS:
                    results = await asyncio.gather(*(call(*each) for each in wanted))
                    made += len(wanted)
                    found += [each["structuredContent"] for each in results if not each["isError"]]
                    messages.append({"role": "assistant", "calls": wanted})
                    messages += [{"role": "tool", "content": each["content"][0]["text"]} for each in results]
                return wanted if isinstance(wanted, str) else tell_known(found, question)
        except TimeoutError:
            return tell_known(found, question) or "That took me too long. Please ask me once more."
