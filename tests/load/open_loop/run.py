"""A schedule being kept, and each call of it counted from when it was due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.load.open_loop.conversation import Conversation
from tests.load.open_loop.schedule import CALLS_A_TURN, Turn

LOST_SECONDS = 10.0
HEAD_START = 0.1
LOST = "no answer"


@dataclass(slots=True)
class Asked:
    """A call on its way; `refused` when an earlier one of its turn got no result, or none that the server
    could remember."""

    turn: Turn
    step: int
    due: float
    late: float
    refused: bool


class Run:
    """A schedule being kept. `rows` has a line for each call: turn, step, tool, due, late, latency, outcome, degraded, retry
    after; times in seconds, `due` from the start."""

    def __init__(self, turns: Sequence[Turn], conversations: Sequence[Conversation]) -> None:
        self._turns = turns
        self._conversations = conversations
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, Asked] = {}
        self._number = 0
        self._arrived = 0
        self._left = len(turns) * CALLS_A_TURN
        self._over = self._loop.create_future()
        self._names = {id(turn): number for number, turn in enumerate(turns)}
        self.started = self._loop.time() + HEAD_START
        self.rows: list[list[Any]] = []
        self.strays = 0

    async def kept(self) -> None:
        """Until every call was answered, or the last has been due for LOST_SECONDS."""
        if self._turns:
            self._expect_next()
            await self._over

    def answered(self, number: int, event: bytes) -> None:
        asked = self._open.pop(number, None)
        if asked is None:
            self.strays += 1  # twice, or nobody's
            return
        outcome, degraded, retry_after_ms = verdict(event)
        self._done(asked, outcome, degraded, retry_after_ms)

    def refused(self, number: int, why: str) -> None:
        if asked := self._open.pop(number, None):
            self._done(asked, why)

    def _expect_next(self) -> None:
        self._loop.call_at(self.started + self._turns[self._arrived].due, self._arrive)

    def _arrive(self) -> None:
        turn = self._turns[self._arrived]
        self._arrived += 1
        if self._arrived < len(self._turns):
            self._expect_next()  # before anything else: the next one does not hang on this one
        else:
            self._loop.call_later(LOST_SECONDS + CALLS_A_TURN, self._give_up)
        self._ask(turn, 0, self.started + turn.due, False)

    def _ask(self, turn: Turn, step: int, due: float, refused: bool) -> None:
        number = self._number = self._number + 1
        conversation = self._conversations[self._names[id(turn)] % len(self._conversations)]
        self._open[number] = Asked(turn, step, due, self._loop.time() - due, refused)
        conversation.send(number, body(number, turn, step, refused))

    def _done(self, asked: Asked, outcome: str, degraded: bool = False, retry_after_ms: int | None = None) -> None:
        now, turn = self._loop.time(), asked.turn
        self._note(asked, now - asked.due, outcome, degraded, retry_after_ms)
        self._left -= 1
        if asked.step + 1 < CALLS_A_TURN:
            due = now + turn.thinks[asked.step]
            refused = asked.refused or degraded or outcome not in SOURCES
            self._loop.call_at(due, self._ask, turn, asked.step + 1, due, refused)
        elif not self._left and not self._over.done():
            self._over.set_result(None)

    def _give_up(self) -> None:
        for number in list(self._open):
            self._note(self._open.pop(number), LOST_SECONDS, LOST, False, None)
        if not self._over.done():
            self._over.set_result(None)

    def _note(self, asked: Asked, latency: float, outcome: str, degraded: bool, retry_after_ms: int | None) -> None:
        name, tool = self._names[id(asked.turn)], asked.turn.asks[asked.step].tool
        times = (round(seconds, 6) for seconds in (asked.due - self.started, asked.late, latency))
        self.rows.append([name, asked.step, tool, *times, outcome, degraded, retry_after_ms])


SOURCES = ("live", "cache", "stale", "fallback")


def body(number: int, turn: Turn, step: int, refused: bool) -> bytes:
    ask = turn.asks[step]
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{ask.tool}",'
        f'"arguments":{ask.arguments_after(refused)},"_meta":{{"com.mangaassist/sessionId":"{turn.session}",'
        f'"com.mangaassist/turnId":"{turn.name}","com.mangaassist/userId":"{turn.user}",'
        f'"com.mangaassist/expectedCalls":{CALLS_A_TURN - step}}}}}}}'
    ).encode()


def verdict(event: bytes) -> tuple[str, bool, int | None]:
    """(source or name of the failure, degraded, retry_after_ms). In the text block quotes are escaped, so that these words
    with plain quotes are the answer's own."""
    if b'"isError":false' in event:
        source = _after(event, b'"source":"', b'"')
        return source if source in SOURCES else "no source", b'"degraded":[]' not in event, None
    if b'"isError":true' in event:
        name = _after(event, b'"error":{"code":', b",", skip=b'"name":"', end=b'"')
        retry = _after(event, b'"retry_after_ms":', b",")
        return name, False, int(retry) if retry.isdigit() else None
    return "JSON-RPC error", False, None


def _after(event: bytes, mark: bytes, until: bytes, skip: bytes = b"", end: bytes = b"") -> str:
    at = event.find(mark)
    if at < 0:
        return ""
    at += len(mark)
    if skip:
        at, until = event.index(skip, at) + len(skip), end
    return event[at : event.index(until, at)].decode()
