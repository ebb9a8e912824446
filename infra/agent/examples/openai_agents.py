"""An agent made with OpenAI Agents: a question is a turn of at most three seconds and three rounds of calls."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

from agents import Agent, MaxTurnsExceeded, Runner
from agents.mcp import MCPServerSse
from agents.models.interface import Model

from infra.agent.words import tell_known

SECONDS, CALLS, TOKENS = 2.9, 3, 2000


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
        self.made += 1
        for last in (False, True):
            result = await super().call_tool(tool_name, arguments, meta)
            failed = (result.structured_content or {}).get("error", {}).get("data", {})
            wait = (failed.get("retry_after_ms") or 0) / 1000
            if last or not failed.get("retryable") or time.monotonic() + wait > self.until:
                break
            await asyncio.sleep(wait)
        if not result.is_error and result.structured_content:
            self.found.append(result.structured_content)
        return result


async def answer(url: str, model: Model | str, session: str, user: str, question: str) -> str:
    async with Shop(url, session, user) as shop:
        rules: Any = (await shop.get_prompt("shopping_assistant", {"language": "en"})).messages[0].content
        past: Any = (await shop.read_resource("manga://session/history")).contents[0]
        agent = Agent("shop", instructions=rules.text, mcp_servers=[shop], model=model)
        asked = f"<earlier_in_this_conversation>{past.text}</earlier_in_this_conversation>\n{question}"
        try:
            async with asyncio.timeout(shop.until - time.monotonic()):
                return str((await Runner.run(agent, asked, max_turns=CALLS + 1)).final_output)
        except (TimeoutError, MaxTurnsExceeded):
            return tell_known(shop.found, question) or "That took me too long. Please ask me once more."
