"""Requests of this process's clients that others answer: each is passed on, and its answer passed back."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections import deque
from contextlib import suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.identity import Identifier
from server.identity.bearer import bearer_of
from server.identity.request_metadata import PREFIX
from server.transport.http.answers import INVALID_REQUEST, Unanswered, error_of, is_stream, refusal
from server.transport.http.bodies import read_message
from server.transport.http.responses import busy, plain
from server.transport.relay.frames import MESSAGES, SESSIONS, Ask, Left, Part, Taken
from server.transport.relay.port import ANSWERED, GONE, UNREACHED, Counts, Gone, Relay, Unreached, Unsure
from server.transport.relay.port import LOST as LOST_IT
from session.resilience.tasks import start_task

MOST_UNREAD_BYTES = 2**20
"""What may wait for a client that does not read, beyond what its socket has taken; then its answer is cut."""
LONGEST_SECONDS = 120.0
"""Twice what any call may take."""


class Lost(Exception):
    """The rest of an answer does not come."""


class Answer:
    """Its parts in their order, each once, however they come."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._parts: deque[Part] = deque()
        self._next = 0
        self._unread_bytes = 0
        self._lost = False
        self._whole = False
        self._news = asyncio.Event()
        self._begun = asyncio.Event()

    @property
    def unfinished(self) -> bool:
        """Whether its owner may still be at it."""
        return not self._whole

    def taken(self) -> None:
        """Notes that its owner is at it."""
        self._begun.set()

    async def begun(self, seconds: float) -> bool:
        """Waits so long for a first sign that it was asked for, or that it does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        return self._begun.is_set()

    def take(self, part: Part) -> None:
        if self._lost or part.order < self._next:
            return  # what was said again because nobody knew whether it had come
        if part.order > self._next or self._unread_bytes > MOST_UNREAD_BYTES:
            self.lose()
            return
        self._next += 1
        self._whole = not part.more
        self._unread_bytes += len(part.body)
        self._parts.append(part)
        self._news.set()
        self._begun.set()

    def lose(self) -> None:
        self._lost = True
        self._news.set()
        self._begun.set()

    async def first(self) -> Part:
        """The beginning of an answer that is on its way. Raises `Lost`, and `Unreached` where it has not come in time."""
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                return await self.part()
        except TimeoutError:
            raise Unreached from None

    async def part(self) -> Part:
        """The next one. Raises `Lost`."""
        while not self._parts:
            if self._lost:
                raise Lost
            self._news.clear()
            await self._news.wait()
        part = self._parts.popleft()
        self._unread_bytes -= len(part.body)
        return part


def in_place(to: str, asked: bytes, why: str) -> Response:
    """Returns the response to what was `asked`. A request of Streamable HTTP is answered by an error of its own, each of a
    batch too: a client of mcp 1.x whose POST fails posts nothing any more, and its call waits for ever. All else is told to
    come back."""
    if to != SESSIONS:
        return busy(why)
    if (error := error_of(asked, why)) is not None:
        return Response(error, media_type="application/json")
    if errors := Unanswered(asked).errors(why):
        return Response(errors, media_type="text/event-stream")
    return refusal(INVALID_REQUEST, why, 503)


AWAY = "The process that holds this session does not answer."
AGAIN_SECONDS = 1.0
"""After so long without a sign of its owner a request is said again: it may have been lost on the way."""
LEAVE_SECONDS, LEAVE_AGAIN_SECONDS = 10.0, 0.2
CLOSE_SECONDS = 0.25
ACCEPTED = 202
SECRET = (b"authorization", b"proxy-authorization", b"cookie")
USER_TOKEN = f"{PREFIX}userToken"
LOST = "The process that held this session has ended before it answered."


class Asking:
    """`number` is that of a request here; its answer is waited for as long as its owner lives, and a first sign of it for
    `patience_seconds` at most: a request may be lost on the way with nobody to tell of it. `identifier` proves who asks,
    here, since no token is passed on."""

    def __init__(self, relay: Relay, patience_seconds: float, counts: Counts, identifier: Identifier) -> None:
        self._relay = relay
        self._identifier = identifier
        self._counts = counts
        self._patience_seconds = patience_seconds
        self._numbers = itertools.count(1)
        self._open: dict[int, Answer] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def pass_on(self, owner: str, to: str, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        number, answer = next(self._numbers), Answer(owner)
        self._open[number] = answer
        outcome, asked = ANSWERED, _Asked(self._relay, answer, self._patience_seconds)
        try:
            said = (await self._ask(number, to, body, scope)).encoded()
            if to == MESSAGES:  # taken or not is said at once, and what was taken stays so when its client leaves
                await _passed_back(asked, said, body, send)
            else:
                await _while_there(receive, asked, said, body, send)
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
            if asked.sent and answer.unfinished:
                self._leave(owner, number, to)

    def taken(self, taken: Taken) -> None:
        """Notes that its owner is at it."""
        answer = self._open.get(taken.number)
        if answer is not None and answer.owner == taken.sender:
            answer.taken()

    def heard(self, part: Part) -> bool:
        """Takes a part, and tells whether the next is waited for, if there is to be one."""
        answer = self._open.get(part.number)
        if answer is None or answer.owner != part.sender:
            return False
        answer.take(part)
        return True

    def refuse(self, part: Part) -> None:
        """Tells its sender that nobody waits for it."""
        if part.more or part.status == ACCEPTED:
            self._leave(part.sender, part.number, MESSAGES if part.status == ACCEPTED else SESSIONS)

    def owners(self) -> set[str]:
        return {answer.owner for answer in self._open.values()}

    def lose(self, owner: str | None = None) -> None:
        """Gives up what this owner has not answered yet; None for all of them."""
        for answer in self._open.values():
            if owner is None or answer.owner == owner:
                answer.lose()

    async def aclose(self) -> None:
        """Says what is still to be said to owners, for a moment."""
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=CLOSE_SECONDS)
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _leave(self, owner: str, number: int, of: str) -> None:
        task = start_task(self._say_left(owner, Left(self._relay.own, number, of).encoded()), "relay-leave")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _say_left(self, owner: str, said: bytes) -> None:
        """Says it until it has come: an owner that is not told keeps a stream that its client opens anew elsewhere."""
        with suppress(TimeoutError, Gone):
            async with asyncio.timeout(LEAVE_SECONDS):
                while True:
                    try:
                        await self._relay.send(owner, said)
                        return
                    except Gone:
                        raise
                    except Unreached:
                        await asyncio.sleep(LEAVE_AGAIN_SECONDS)

    async def _ask(self, number: int, to: str, body: bytes, scope: Scope) -> Ask:
        user = scope.get("user")
        body, tokens = without_tokens(body)
        vouched = await self._identifier.vouch(bearer_of(Headers(scope=scope)), tokens)
        return Ask(
            sender=self._relay.own,
            number=number,
            to=to,
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"],
            scheme=scope["scheme"],
            headers=[(name, value) for name, value in scope["headers"] if name not in SECRET],
            client=scope["client"],
            user=user.access_token.client_id if isinstance(user, AuthenticatedUser) else None,
            waited_ms=round(1000 * (time.monotonic() - scope["manga.arrived"])),
            body=body,
            bearer=vouched.bearer,
            tokens=vouched.tokens,
        )


class _Asked:
    """A request on its way; `sent` is set as soon as it may have come."""

    def __init__(self, relay: Relay, answer: Answer, patience_seconds: float) -> None:
        self.answer = answer
        self.sent = False
        self._relay = relay
        self._patience_seconds = patience_seconds

    async def first(self, said: bytes) -> Part:
        """Says it, again and again while nobody knows whether it has come; its owner begins with it once. Returns the
        beginning of its answer. Raises `Gone`, `Lost`, and `Unreached` where there is no sign of its owner."""
        give_up = time.monotonic() + self._patience_seconds
        while True:
            try:
                await self._relay.send(self.answer.owner, said)
                self.sent = True
            except Unsure:
                self.sent = True
            except Gone:
                raise
            except Unreached:
                if not self.sent:
                    raise
            left = give_up - time.monotonic()
            if await self.answer.begun(max(0.0, min(AGAIN_SECONDS, left))):
                return await self.answer.first()
            if left <= AGAIN_SECONDS:
                raise Unreached


def without_tokens(body: bytes) -> tuple[bytes, dict[str, str]]:
    """Takes the customers' tokens out of the messages of a body. Returns it with a name in place of each, and these by
    name; what has none is returned to the byte."""
    try:
        message = read_message(body)
    except (ValueError, RecursionError):
        return body, {}
    tokens: dict[str, str] = {}
    for each in message if isinstance(message, list) else [message]:
        params = each.get("params") if isinstance(each, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get(USER_TOKEN) if isinstance(meta, dict) else None
        if isinstance(meta, dict) and isinstance(token, str) and token:
            name = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
            tokens[name] = token
            meta[USER_TOKEN] = name
    return (json.dumps(message).encode(), tokens) if tokens else (body, {})


async def _while_there(receive: Receive, asked: _Asked, said: bytes, body: bytes, send: Send) -> None:
    """Passes the answer back for as long as its client is there. Raises `Lost`, `Unreached` where nothing of it has come."""
    passing = asyncio.create_task(_passed_back(asked, said, body, send), name="relay-answer")
    leaving = asyncio.create_task(_left(receive), name="relay-gone")
    try:
        await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            passing.result()
    finally:
        for each in (passing, leaving):
            each.cancel()
        await asyncio.gather(passing, leaving, return_exceptions=True)


async def _passed_back(asked: _Asked, said: bytes, body: bytes, send: Send) -> None:
    """Raises `Lost`, `Unreached` where nothing of it has come; what is lost later is ended as well as can be: a stream that
    ends without its answers, as at the end of its owner, would leave its client waiting."""
    part = await asked.first(said)
    await send({"type": "http.response.start", "status": part.status, "headers": part.headers})
    unanswered = Unanswered(body if is_stream(part.headers) else b"")
    try:
        while True:
            unanswered.see(part.body)
            rest = b"" if part.more else unanswered.errors(LOST)
            await send({"type": "http.response.body", "body": part.body + rest, "more_body": part.more})
            if not part.more:
                return
            part = await asked.answer.part()
    except Lost:
        await send({"type": "http.response.body", "body": unanswered.errors(LOST), "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _no_session(to: str) -> Response:
    """The same that its owner would say."""
    if to == SESSIONS:
        return refusal(INVALID_REQUEST, "Session not found", 404)
    return plain(404, "There is no such session.")
