"""Who is asking, and in which turn: put into `_meta` of every call, though one connection serves all customers.

Strands sends the same `_meta` with every call of a client. What differs from turn to turn has to be added call by call,
and the place for it is a hook that swaps the tool for one that knows its turn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from strands.hooks import BeforeModelCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.tools.mcp import MCPAgentTool
from strands.types._events import ToolResultEvent
from strands.types.tools import ToolGenerator, ToolUse

PREFIX = "com.mangaassist/"


@dataclass(slots=True)
class Turn:
    """One question of one customer. `steps` is how many rounds of tools the agent reckons with; calls that the model
    asks for together are one round. The server divides the time that is left by the rounds still to come. `budget_ms` is
    what the turn may take once it has begun: with its first call, as the server's clock of it does, or before, where a
    customer's whole wait counts. Each call states what is left. A replica that cannot ask Redis how long the turn has
    lasted elsewhere knows it from there. Without a user the customer is nobody in particular."""

    session: str
    turn: str
    user: str | None
    steps: int = 1
    budget_ms: int | None = None
    rounds: int = 0
    began: float | None = None

    def begin(self) -> None:
        """From now on time passes, unless it does already."""
        if self.began is None:
            self.began = time.monotonic()

    def meta(self) -> dict[str, Any]:
        left = max(1, self.steps - self.rounds + 1)
        stated: dict[str, Any] = {
            PREFIX + "sessionId": self.session,
            PREFIX + "turnId": self.turn,
            PREFIX + "expectedCalls": left,
        }
        if self.user is not None:
            stated[PREFIX + "userId"] = self.user
        if self.budget_ms is not None:
            stated[PREFIX + "turnBudgetMs"] = self._left_ms(self.budget_ms)
        return stated

    def _left_ms(self, budget_ms: int) -> int:
        passed = 0.0 if self.began is None else time.monotonic() - self.began
        return max(0, budget_ms - round(passed * 1000))


class ToolOfTurn(MCPAgentTool):
    """The same tool, with this turn's `_meta`."""

    def __init__(self, tool: MCPAgentTool, meta: dict[str, Any]) -> None:
        super().__init__(tool.mcp_tool, tool.mcp_client, tool.tool_name, tool.timeout)
        self.meta = meta

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        result = await self.mcp_client.call_tool_async(
            tool_use["toolUseId"], self.mcp_tool.name, tool_use["input"], self.timeout, self.meta
        )
        yield ToolResultEvent(result)


class StateTheTurn(HookProvider):
    """Expects the `Turn` in the invocation: `agent(question, invocation_state={"turn": turn})`."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeModelCallEvent, self.count)
        registry.add_callback(BeforeToolCallEvent, self.swap)

    def count(self, event: BeforeModelCallEvent) -> None:
        event.invocation_state["turn"].rounds += 1

    def swap(self, event: BeforeToolCallEvent) -> None:
        if isinstance(event.selected_tool, MCPAgentTool):
            turn: Turn = event.invocation_state["turn"]
            turn.begin()
            event.selected_tool = ToolOfTurn(event.selected_tool, turn.meta())
