"""Requests of this process's clients that others answer: each is passed on, and its answer passed back."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.responses import plain
from server.transport.http.streamable.answered import is_answer
from server.transport.http.streamable.refusals import INVALID_REQUEST, refusal
from server.transport.relay.answer import Answer, Lost
from server.transport.relay.counts import ANSWERED, GONE, UNREACHED, Counts
from server.transport.relay.counts import LOST as LOST_IT
from server.transport.relay.cut import end_of, in_place
from server.transport.relay.frames import MESSAGES, SESSIONS, Ask, Left, Part
from server.transport.relay.post import Gone, Relay, Unreached

AWAY = "The process that holds this session does not answer."
LOST = "The process that held this session has ended before it answered."


class Asking:
    """`number` is that of a request here; its answer is waited for as long as its owner lives, and its beginning for
    `patience_seconds` at most: a request that was taken may be lost on the way with nobody to tell of it."""

    def __init__(self, relay: Relay, patience_seconds: float, counts: Counts) -> None:
        self._relay = relay
        self._counts = counts
        self._patience_seconds = patience_seconds
        self._numbers = itertools.count(1)
        self._open: dict[int, Answer] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def pass_on(self, owner: str, to: str, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        number, answer, taken = next(self._numbers), Answer(owner, self._patience_seconds), False
        self._open[number] = answer
        outcome = ANSWERED
        try:
            await self._relay.send(owner, self._asked(number, to, body, scope).encoded())
            taken = True
            if to == MESSAGES:  # taken or not is said at once, and what was taken stays so when its client leaves
                await _passed_back(answer, body, send)
            else:
                await _while_there(receive, answer, body, send)
        except Gone:
            outcome = GONE
            await _no_session(to)(scope, receive, send)
        except Unreached:
            outcome = UNREACHED
            await in_place(to, body, AWAY)(scope, receive, send)
        except Lost:
            outcome = LOST_IT
            await in_place(to, body, LOST)(scope, receive, send)
        finally:
            del self._open[number]
            self._counts.forwarded(outcome)
            if taken and answer.unfinished:
                await self._leave(owner, number)

    def heard(self, part: Part) -> bool:
        """Takes a part, and tells whether the next is waited for, if there is to be one."""
        answer = self._open.get(part.number)
        if answer is None or answer.owner != part.sender:
            return not part.more
        answer.take(part)
        return True

    async def refuse(self, part: Part) -> None:
        """Tells its sender that nobody waits for it."""
        await self._leave(part.sender, part.number)

    def owners(self) -> set[str]:
        return {answer.owner for answer in self._open.values()}

    def lose(self, owner: str | None = None) -> None:
        """Gives up what this owner has not answered yet; None for all of them."""
        for answer in self._open.values():
            if owner is None or answer.owner == owner:
                answer.lose()

    async def _leave(self, owner: str, number: int) -> None:
        with suppress(Unreached):
            await self._relay.send(owner, Left(self._relay.own, number).encoded())

    def _asked(self, number: int, to: str, body: bytes, scope: Scope) -> Ask:
        user = scope.get("user")
        return Ask(
            sender=self._relay.own,
            number=number,
            to=to,
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"],
            scheme=scope["scheme"],
            headers=scope["headers"],
            client=scope["client"],
            user=user.access_token.client_id if isinstance(user, AuthenticatedUser) else None,
            waited_ms=round(1000 * (time.monotonic() - scope["manga.arrived"])),
            body=body,
        )


async def _while_there(receive: Receive, answer: Answer, body: bytes, send: Send) -> None:
    """Passes the answer back for as long as its client is there. Raises `Lost`, `Unreached` where nothing of it has come."""
    passing = asyncio.create_task(_passed_back(answer, body, send), name="relay-answer")
    leaving = asyncio.create_task(_left(receive), name="relay-gone")
    try:
        await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            passing.result()
    finally:
        for each in (passing, leaving):
            each.cancel()
        await asyncio.gather(passing, leaving, return_exceptions=True)


async def _passed_back(answer: Answer, body: bytes, send: Send) -> None:
    """Raises `Lost`, `Unreached` where nothing of it has come; what is lost later is ended as well as can be."""
    part = await answer.first()
    await send({"type": "http.response.start", "status": part.status, "headers": part.headers})
    headers, told = part.headers, False
    try:
        while True:
            told = told or is_answer(part.body)
            # A stream that ends without its answer, as at the end of its owner, would leave its client waiting.
            said = part.body if told or part.more else part.body + end_of(headers, body, LOST)
            await send({"type": "http.response.body", "body": said, "more_body": part.more})
            if not part.more:
                return
            part = await answer.part()
    except Lost:
        said = b"" if told else end_of(headers, body, LOST)
        await send({"type": "http.response.body", "body": said, "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _no_session(to: str) -> Response:
    """The same that its owner would say."""
    if to == SESSIONS:
        return refusal(INVALID_REQUEST, "Session not found", 404)
    return plain(404, "There is no such session.")
