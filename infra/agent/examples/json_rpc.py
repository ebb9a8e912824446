"""An agent without a framework: JSON-RPC over HTTP (MCP 2026-07-28). A turn has three seconds and three calls."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpx

from infra.agent.words import sentence, tell_known

SECONDS, CALLS, TOKENS = 2.9, 3, 2000
ENOUGH, LOST = "No more calls in this turn: answer from what you have.", "This call failed: go on without it."
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
ERA = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
Json = dict[str, Any]
Think = Callable[[list[Json], list[Json]], Awaitable[str | list[tuple[str, Json]]]]  # (messages, tools): answer or calls


async def answer(url: str, think: Think, session: str, user: str, question: str) -> str:
    until, turn, made, found = time.monotonic() + SECONDS, uuid.uuid4().hex, 0, list[Json]()
    who = {"X-Session-ID": session, "X-User-ID": user, "X-Turn-ID": turn, "X-Token-Budget": str(TOKENS)}

    async def ask(method: str, **params: Any) -> Json:
        left_ms = str(max(0, round((until - time.monotonic()) * 1000)))
        named = {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if params else {})}
        stated = {"X-Turn-Budget-Ms": left_ms, "X-Expected-Calls": str(max(1, 2 - made)), **named}
        posted = {"jsonrpc": "2.0", "id": made, "method": method, "params": {**params, "_meta": ERA}}
        return dict((await http.post("/mcp", json=posted, headers=stated)).raise_for_status().json()["result"])

    async def call(name: str, arguments: Json) -> Json:
        """Calls a tool; retries once if the error is retryable and time is left."""
        result = await ask("tools/call", name=name, arguments=arguments)
        failed = result["structuredContent"].get("error", {}).get("data", {})
        wait = (failed.get("retry_after_ms") or 0) / 1000
        if failed.get("retryable") and time.monotonic() + wait < until:
            await asyncio.sleep(wait)
            result = await ask("tools/call", name=name, arguments=arguments)
        found.extend([] if result["isError"] else [result["structuredContent"]])
        return result

    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(SECONDS), httpx.AsyncClient(base_url=url, headers=HEADERS | who) as http:
            past = (await http.get(f"/sessions/{session}", params={"query": question})).raise_for_status().json()
            rules = await ask("prompts/get", name="shopping_assistant", arguments={"language": "en"})
            tools = (await ask("tools/list"))["tools"]
            messages = [*rules["messages"], {"role": "user", "content": f"{past.get('summary', '')}\n{question}"}]
            while isinstance(wanted := await think(messages, tools), list) and made <= CALLS:
                results = await asyncio.gather(*(call(*each) for each in wanted[: CALLS - made]), return_exceptions=True)
                made += len(wanted)
                told = [LOST if isinstance(each, BaseException) else each["content"][0]["text"] for each in results]
                told += [ENOUGH] * (len(wanted) - len(results))
                messages += [{"role": "assistant", "calls": wanted}, *({"role": "tool", "content": each} for each in told)]
            if isinstance(wanted, str):
                return wanted
    return tell_known(found, question) or sentence("store_away", question)
