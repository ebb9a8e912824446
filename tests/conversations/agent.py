"""The scripted agent: it plays a conversation against a server as a plain model would, and judges every answer.

Each conversation is a session and each turn of the customer's a turn, with its time. What is judged is the answer and not the
machine: one that says it is degraded, as on a machine too busy for the tools' timeouts, is asked for again in a turn of its own.
`tests/chaos` is about answers under stress.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tests.conversations.notebook import Notebook, NotShown, Page
from tests.conversations.script import Call, Conversation, Turn
from tests.conversations.shelf import Json, Shelf

TURN_MS = 3000
ATTEMPTS = 3
BUSY = frozenset({"TIMEOUT", "BUDGET_EXHAUSTED", "CIRCUIT_OPEN", "DEPENDENCY_FAILURE", "SERVER_BUSY"})


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer: what it holds, `{"error": …}` for a failure, and whether it says to be less than it could be."""

    value: Json
    degraded: bool = False

    @property
    def again(self) -> bool:
        return self.degraded or self.value.get("error", {}).get("name") in BUSY


class Line(Protocol):
    """To a server."""

    async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard: ...


@dataclass(frozen=True, slots=True)
class Agent:
    line: Line
    shelf: Shelf

    async def play(self, conversation: Conversation) -> list[str]:
        """What is wrong with the answers, in words. It ends early where there is nothing left to refer to."""
        notes = Notebook(self.shelf)
        session = f"talk-{uuid.uuid4().hex}"
        problems: list[str] = []
        for number, turn in enumerate(conversation.turns, 1):
            notes.pages.append(Page(turn.says))
            try:
                problems += [f"turn {number}, {each}" async for each in self._turn(turn, notes, session)]
            except NotShown as lost:
                return [*problems, f"turn {number}: {lost}"]
        return problems

    async def _turn(self, turn: Turn, notes: Notebook, session: str) -> Any:
        started, turn_id = time.monotonic(), f"turn-{uuid.uuid4().hex}"
        for done, call in enumerate(turn.calls):
            name, arguments = notes.filled(call.name), notes.filled(call.arguments)
            for attempt in range(ATTEMPTS):
                if attempt:
                    started, turn_id = time.monotonic(), f"turn-{uuid.uuid4().hex}"
                left = TURN_MS - int((time.monotonic() - started) * 1000)
                stated = {"sessionId": session, "turnId": turn_id, "turnBudgetMs": max(left, 0)}
                stated |= {"expectedCalls": len(turn.calls) - done, **({"userId": turn.customer} if turn.customer else {})}
                heard = await self.line.ask(call.how, name, arguments, stated)
                if not heard.again:
                    break
            for problem in judged(call, heard.value, notes):
                yield f"{call.name}: {problem}"
            notes.pages[-1].answers.append(heard.value)


def judged(call: Call, answer: Json, notes: Notebook) -> Iterator[str]:
    """What is wrong with an answer. Raises NotShown."""
    if "error" in answer and not call.may_fail:
        yield f"it failed: {answer['error'].get('message')}"
        return
    for line in call.lines:
        problem = line.expected.problem(answer, notes)
        if line.wanted and problem:
            yield f"must: {line.text}; but {problem}"
        elif not line.wanted and not problem:
            yield f"must not: {line.text}"
