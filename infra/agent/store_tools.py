"""Plugin that gives a Strands agent the tools of a manga store.

    agent = Agent(plugins=[StoreTools("http://127.0.0.1:8080/sse", "demo-user-1")])

The agent gets the store's tools, and the store's rules as its system prompt; both are updated when they change. Each
question is a turn with limits of time and tool calls. Every call states the session, turn, user, and the time and tokens
left. Retryable failures are retried once, and a lost stream is reconnected. When the time runs out, the answer is made from
the results so far. The server remembers the titles shown in earlier turns: its summary precedes each question, and the
plugin keeps no results itself."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any

from mcp.shared.exceptions import MCPError
from strands import Agent, tool
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterToolCallEvent,
    AfterToolsEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
)
from strands.plugins import Plugin
from strands.tools.mcp import MCPAgentTool
from strands.types._events import ToolResultEvent
from strands.types.content import Message, Messages
from strands.types.tools import AgentTool, ToolGenerator, ToolResult, ToolUse

from infra.agent.store import CONNECT_SECONDS, Connection, Json, Store
from infra.agent.words import sentence, tell_known

PREFIX = "com.mangaassist/"
CALL_KEY = PREFIX + "call"
MOST_MESSAGES = 20
"""Most messages (questions and answers) kept of a conversation, the newest. The server remembers the results."""
PATIENT = 0.3
"""Share of a turn that a question waits for a store that is being reconnected."""
A_CALL_MS = 150
"""Least milliseconds left for repeating a call."""
MOST_BYTES, MOST_VALUES, DEEPEST = 200_000, 1000, 32
"""Bounds of a call's arguments, a little below those of a message that the server reads."""
GRACE_MS = 200
"""Milliseconds after the turn's end at which a call without an answer counts as lost."""
ENOUGH = "No more calls in this turn: answer from what you have, and say what is missing."
ON_WITHOUT = "Do not repeat this call in this turn: say what could not be had, and go on without it."
EARLIER = "<earlier_in_this_conversation>\n{}\n</earlier_in_this_conversation>"
LOAD_SKILL = "load_skill"
UNREACHED = "UNREACHED"
"""Outcome of a call that no tool answered, because the connection or the time ended."""


@dataclass(slots=True)
class Turn:
    """State of one turn: a customer's question and its answer. `budget_ms`: its time; `tokens`: those left for results, None
    for no limit. `steps`: expected rounds of tool calls, where calls that the model makes together are one round; `rounds`:
    those so far. `late`: the time ran out. `away`: the store was unreachable. `refused`: rounds with a call beyond the
    limit. `asked`, `repeated`: tool-use ids. `made`: the calls in order, each with its tool and outcome ("success" or the
    error's name). `spent`: milliseconds by what the turn waited for ("model", "tools")."""

    session: str
    user: str | None
    token: str | None = None
    question: str = ""
    steps: int = 2
    budget_ms: int = 3000
    tokens: int | None = None
    name: str = ""
    rounds: int = 0
    late: bool = False
    away: bool = False
    refused: set[int] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    repeated: set[str] = field(default_factory=set)
    results: list[Json] = field(default_factory=list)
    made: list[Json] = field(default_factory=list)
    spent: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    marked: float = 0.0
    waits_for: str | None = None

    def __post_init__(self) -> None:
        # With a random part instead of a counter: this process may not know the session's earlier turns.
        self.name = self.name or f"{self.session[:100]}.{uuid.uuid4().hex[:12]}"

    @property
    def left_ms(self) -> int:
        return max(0, self.budget_ms - round((time.monotonic() - self.began) * 1000))

    def wait_for(self, part: str | None) -> None:
        """Starts the time that the turn waits for `part`: "model", "tools" or None. Adds the milliseconds since the last
        call of this method to `spent`, under the previous part."""
        now = time.monotonic()
        if self.waits_for is not None:
            self.spent[self.waits_for] += round((now - self.marked) * 1000)
        self.marked, self.waits_for = now, part

    def meta(self) -> Json:
        stated = {
            "sessionId": self.session,
            "turnId": self.name,
            "userId": self.user,
            "userToken": self.token,
            "turnBudgetMs": self.left_ms,
            "expectedCalls": max(1, self.steps - self.rounds + 1),
            "tokenBudget": self.tokens,
        }
        return {PREFIX + key: value for key, value in stated.items() if value is not None}

    def words(self) -> str:
        return tell_known(self.results, self.question) or sentence("late", self.question)


class ToolOfTurn(MCPAgentTool):
    """Tool over the current connection that sends this turn's `_meta`; Strands' own class sends a constant `_meta`."""

    def __init__(self, tool: MCPAgentTool, connection: Connection, meta: Json) -> None:
        super().__init__(tool.mcp_tool, connection.client, tool.tool_name)
        self.meta = meta

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        bound = timedelta(milliseconds=self.meta[PREFIX + "turnBudgetMs"] + GRACE_MS)
        agent = invocation_state.get("agent")
        signal = agent.cancel_signal if isinstance(agent, Agent) else None
        name, given = self.mcp_tool.name, tool_use["input"]
        if problem := _problem_of(given):
            error = {"name": "VALIDATION_ERROR", "message": problem, "data": {"retryable": False}}
            told: Any = {"status": "error", "content": [{"text": problem}], "structuredContent": {"error": error}}
            told["toolUseId"] = tool_use["toolUseId"]
            yield ToolResultEvent(told)
            return
        yield ToolResultEvent(
            await self.mcp_client.call_tool_async(tool_use["toolUseId"], name, given, bound, self.meta, cancel_signal=signal)
        )


def _problem_of(arguments: Any) -> str | None:
    """Returns why no server could take the arguments of a call, in words for the model; None if one can. The bounds are
    those of a message of the server, so that a tool's own, with better words, come first."""
    level, values = [arguments], 0
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = list(chain.from_iterable(inner))
        values += len(level)
    if level or values > MOST_VALUES:
        return f"Arguments hold at most {MOST_VALUES} values, nested at most {DEEPEST} deep: call it with fewer."
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        return "Arguments are JSON in UTF-8, without half a character, NaN or Infinity: write them anew."
    return f"Arguments have at most {MOST_BYTES} bytes: call it with less." if size > MOST_BYTES else None


def skill_loader(store: Store, skills: Sequence[Json]) -> AgentTool:
    """Returns a tool by which the model loads a skill's text. The tool's description lists all skills."""
    named = {each["frontmatter"]["name"]: each for each in skills}
    told = "\n".join(f"{name}: {each['frontmatter']['description']}" for name, each in named.items())

    @tool(name=LOAD_SKILL, description=f"Tells the store's know-how on one of:\n{told}")
    async def load_skill(name: str) -> str:
        if name not in named:
            return f"There is no such skill. There are: {', '.join(named)}."
        try:
            return await asyncio.to_thread(store.read_skill, named[name])
        except (MCPError, ValueError) as error:
            return f"This skill cannot be loaded now ({error}): go on without it."

    return load_skill


class StoreTools(Plugin):
    """One customer's access to the store, for one agent.

    `store`: a URL, or a `Store` that many agents share. `user`: None for a customer who is not signed in. `token`: the
    customer's bearer token, if the server requires it. `seconds`, `calls`: limits of each turn. `steps`: expected rounds of
    tool calls in a turn. `tokens`: limit for a turn's results in total, None for no limit. `only`: names of the tools for
    the model, None for all. `skills`: whether the model may load the store's skills. `turn`: the current turn, or the last
    one."""

    name = "manga-store"

    def __init__(
        self,
        store: Store | str,
        user: str | None = None,
        *,
        session: str | None = None,
        token: str | None = None,
        seconds: float = 2.9,
        steps: int = 2,
        calls: int = 3,
        tokens: int | None = None,
        only: Collection[str] | None = None,
        skills: bool = True,
    ) -> None:
        super().__init__()
        self.store = Store(store) if isinstance(store, str) else store
        self.session = session or f"chat-{uuid.uuid4().hex[:12]}"
        self.user, self.token = user, token
        self.seconds, self.steps, self.calls, self.tokens = seconds, steps, calls, tokens
        self.only, self.skills = only, skills
        self.turn = Turn(self.session, user)
        self._own = isinstance(store, str)
        self._known: Connection | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._said = 0

    def init_agent(self, agent: Agent) -> None:
        agent.add_hook(self.begin, BeforeInvocationEvent)
        agent.add_hook(self.think, BeforeModelCallEvent)
        agent.add_hook(self.thought, AfterModelCallEvent)
        agent.add_hook(self.state, BeforeToolCallEvent)
        agent.add_hook(self.hear, AfterToolCallEvent)
        agent.add_hook(self.end_of_round, AfterToolsEvent)
        agent.add_hook(self.end, AfterInvocationEvent)
        if self._own:
            self.store.open()
            if self.store.wait(CONNECT_SECONDS) is None:
                raise ConnectionError(f"no store answers at {self.store.url}; start one with: make run")
        if connection := self.store.connection:
            self._follow(agent, connection)

    def _follow(self, agent: Agent, connection: Connection) -> None:
        """Replaces the agent's tools and system prompt with the connection's; a custom system prompt stays."""
        if connection is self._known:
            return
        tools = agent.tool_registry.registry
        for old in self._known.tools if self._known else ():
            tools.pop(old.tool_name, None)
        tools.pop(LOAD_SKILL, None)
        if self.skills and connection.skills:
            agent.tool_registry.register_tool(skill_loader(self.store, connection.skills))
        for each in connection.tools:
            if self.only is None or each.tool_name in self.only:
                agent.tool_registry.register_tool(each)
        if agent.system_prompt in (None, self._known and self._known.rules):
            agent.system_prompt = connection.rules
        self._known = connection

    async def begin(self, event: BeforeInvocationEvent) -> None:
        agent = event.agent
        asked: Messages = event.messages or []
        question = " ".join(block["text"] for each in asked for block in each["content"] if "text" in block)
        self.turn = turn = Turn(self.session, self.user, self.token, question, self.steps, round(self.seconds * 1000))
        turn.tokens = self.tokens
        self._said = len(agent.messages)
        connection = self.store.connection or await asyncio.to_thread(self.store.wait, self.seconds * PATIENT)
        if connection is None:
            turn.away, event.cancel = True, sentence("store_away", question)
            return
        self._follow(agent, connection)
        if asked and not any("toolResult" in block for each in agent.messages for block in each["content"]):
            past = await asyncio.to_thread(self.store.recall, self.session, self.user, self.token, question)
            if past.get("calls"):
                # Added to the question and not to the rules, so that the model's prompt cache stays valid.
                asked[-1]["content"].insert(0, {"text": EARLIER.format(past["summary"])})
        self._timer = asyncio.get_running_loop().call_later(turn.left_ms / 1000, self._give_up, agent)

    def _give_up(self, agent: Agent) -> None:
        self.turn.late = True
        agent.cancel()

    def think(self, event: BeforeModelCallEvent) -> None:
        self.turn.rounds += 1
        self.turn.wait_for("model")

    def thought(self, event: AfterModelCallEvent) -> None:
        self.turn.wait_for(None)
        if event.exception is not None:
            self.turn.rounds -= 1

    async def state(self, event: BeforeToolCallEvent) -> None:
        """Adds the turn's `_meta` to a call of a store's tool, and an idempotency key if the tool writes. Cancels calls
        beyond the limit or without a connection."""
        self.turn.wait_for("tools")
        called, use, turn = event.selected_tool, event.tool_use["toolUseId"], self.turn
        if not isinstance(called, MCPAgentTool) or self._known is None or called not in self._known.tools:
            return
        if use not in turn.asked and len(turn.asked) >= self.calls:
            event.cancel_tool = ENOUGH
            return
        turn.asked.add(use)
        if (connection := self.store.connection) is None:
            connection = await asyncio.to_thread(self.store.wait, (turn.left_ms - A_CALL_MS) / 1000)
        if connection is None:
            event.cancel_tool = sentence("store_away", turn.question)
            return
        meta = turn.meta()
        if called.tool_spec.get("annotations", {}).get("readOnlyHint") is False:
            meta[PREFIX + "idempotencyKey"] = f"{turn.name}.{len(turn.asked)}"
        event.selected_tool = ToolOfTurn(called, connection, meta)

    async def hear(self, event: AfterToolCallEvent) -> None:
        if event.tool_use["name"] == LOAD_SKILL:
            return
        if event.cancel_message == ENOUGH:
            self.turn.refused.add(self.turn.rounds)
            return
        result, turn, use = event.result, self.turn, event.tool_use["toolUseId"]
        structured: Json = result.get("structuredContent") or {}  # type: ignore[assignment]
        error: Json | None = structured.get("error")
        if result["status"] != "success" and error is None and use in turn.asked:
            error = {"name": UNREACHED, "data": {"retryable": True, "retry_after_ms": 0}}
        if error is not None and not turn.late and await self._is_worth_a_try(use, error):
            event.retry = True
            return
        turn.made.append({"tool": event.tool_use["name"], "outcome": error["name"] if error else result["status"]})
        if error is None:
            turn.results.append(structured)
        elif error["name"] != "VALIDATION_ERROR":  # the model can correct its arguments at once
            result["content"].append({"text": ON_WITHOUT})
        tokens = _metadata(result).get("budget", {}).get("tokens")
        turn.tokens = tokens["remaining"] if tokens and turn.tokens is not None else turn.tokens

    async def _is_worth_a_try(self, use: str, error: Json) -> bool:
        """Returns whether to repeat a failed call: once, if time is left. Sleeps first as long as the error asks."""
        turn, data = self.turn, error.get("data", {})
        wait = data.get("retry_after_ms") or 0
        if not data.get("retryable") or use in turn.repeated:
            return False
        if turn.left_ms < wait + (0 if data.get("fallback_available") else A_CALL_MS):
            return False
        turn.repeated.add(use)
        await asyncio.sleep(wait / 1000)
        if error["name"] == UNREACHED:
            await asyncio.to_thread(self.store.wait, (turn.left_ms - A_CALL_MS) / 1000)
            return self.store.connection is not None
        return True

    def end_of_round(self, event: AfterToolsEvent) -> None:
        self.turn.wait_for(None)
        if len(self.turn.refused) > 1:
            event.end_turn = self.turn.words()

    def end(self, event: AfterInvocationEvent) -> None:
        """Answers from the results if the time ran out, and replaces the turn's messages with its question and answer."""
        turn, messages = self.turn, event.agent.messages
        if self._timer is not None:
            self._timer.cancel()
        if turn.late and event.result is not None and event.result.stop_reason == "cancelled":
            event.result.message["content"][:] = [{"text": turn.words()}]
        answer = event.result.message["content"] if event.result else []
        said = [block["text"] for block in answer if "text" in block] or [turn.words()]
        if turn.question and not (event.result and event.result.interrupts):
            asked: Message = {"role": "user", "content": [{"text": turn.question}]}
            answered: Message = {"role": "assistant", "content": [{"text": each} for each in said]}
            messages[:] = [*messages[: self._said], asked, answered][-MOST_MESSAGES:]


def _metadata(result: ToolResult) -> Json:
    found: Any = dict(result).get("metadata") or {}
    return dict(found.get(CALL_KEY) or {})
