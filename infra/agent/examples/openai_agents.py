"""An agent made with OpenAI Agents: a question is a turn of at most three seconds and three calls."""

from __future__ import annotations

import asyncio
import time
import uuid
from contextlib import suppress
from typing import Any

from agents import Agent, AgentsException, Runner
from agents.mcp import MCPServerSse
from agents.models.interface import Model
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from infra.agent.words import sentence, tell_known

SECONDS, CALLS, TOKENS = 2.9, 3, 2000
ENOUGH = CallToolResult(content=[TextContent(text="No more calls in this turn: answer from what you have.")])


class Shop(MCPServerSse):
    """The store's connection for one turn, never reused, so that it is not stale and lists the current tools."""

    def __init__(self, url: str, session: str, user: str) -> None:
        who = {"X-Session-ID": session, "X-User-ID": user, "X-Turn-ID": uuid.uuid4().hex, "X-Token-Budget": str(TOKENS)}
        super().__init__({"url": f"{url}/sse", "headers": who}, tool_meta_resolver=lambda _: self.stated())
        self.until, self.made, self.found = time.monotonic() + SECONDS, 0, list[dict[str, Any]]()

    def stated(self) -> dict[str, Any]:
        left = max(0, round((self.until - time.monotonic()) * 1000))
        return {"com.mangaassist/turnBudgetMs": left, "com.mangaassist/expectedCalls": max(1, 2 - self.made)}

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
        """Calls a tool; retries once if the error is retryable and time is left."""
        if self.made >= CALLS:
            return ENOUGH
        self.made += 1
        for last in (False, True):
            result = await super().call_tool(tool_name, arguments, meta)
            failed = (result.structured_content or {}).get("error", {}).get("data", {})
            wait = (failed.get("retry_after_ms") or 0) / 1000
            if last or not failed.get("retryable") or time.monotonic() + wait > self.until:
                break
            await asyncio.sleep(wait)
        self.found += [] if result.is_error else [result.structured_content]
        return result


async def answer(url: str, model: Model | str, session: str, user: str, question: str) -> str:
    shop = Shop(url, session, user)
    with suppress(TimeoutError, AgentsException, MCPError):
        async with asyncio.timeout(SECONDS), shop:
            rules: Any = (await shop.get_prompt("shopping_assistant", {"language": "en"})).messages[0].content
            past: Any = (await shop.read_resource("manga://session/history")).contents[0]
            agent = Agent("shop", instructions=rules.text, mcp_servers=[shop], model=model)
            asked = f"<earlier_in_this_conversation>{past.text}</earlier_in_this_conversation>\n{question}"
            return str((await Runner.run(agent, asked, max_turns=CALLS + 2)).final_output)
    return tell_known(shop.found, question) or sentence("store_away", question)
