"""Forwards requests to the process that holds their session (the owner), and passes the answers back."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from contextlib import suppress

from mcp_types import INVALID_REQUEST
from prometheus_client import CollectorRegistry, Counter
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.identity import Identifier
from server.identity.request_metadata import PREFIX, bearer_of
from server.transport.http.responses import ACCEPTED, Unanswered, busy, error_of, is_stream, plain, refusal
from server.transport.http.slots import principal_of
from server.transport.messages import read_message
from server.transport.relay.port import (
    MESSAGES,
    SESSIONS,
    Ack,
    Ask,
    Cancel,
    DeliveryUnknown,
    Part,
    ProcessEnded,
    Progress,
    Relay,
    Unreached,
)
from session.resilience.tasks import Tasks, end_task, wait_for

MOST_UNREAD_BYTES = 2**20
"""Maximum bytes of an answer that its client has not read, beyond the socket's buffer. After more, the answer is cut off."""
WINDOW = 16
"""Maximum parts (256 KB together) that an owner may send beyond those that the client has taken (backpressure)."""
ANSWER_SECONDS = 120.0
"""Timeout in seconds of the first part, once the owner has taken the request: twice the maximum of `call_timeout_ms`."""


class Lost(Exception):
    """Raised if the rest of an answer will not arrive."""


class Answer:
    """The parts of the answer to one forwarded request, in order and without duplicates. `sent` is True once the request may
    have reached its owner, `is_whole` once the last part has arrived."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.sent = False
        self.is_whole = False
        self.begun = asyncio.Event()
        """Set by the first frame of the owner, or when the answer is lost."""
        self._parts: asyncio.Queue[Part | None] = asyncio.Queue()
        """None marks that the rest is lost."""
        self._next_order = 0
        self._unread_bytes = 0
        self._lost = False

    def add(self, part: Part) -> None:
        if self._lost or part.order < self._next_order:
            return  # a duplicate: the sender did not know that the part had arrived
        if part.order > self._next_order or self._unread_bytes > MOST_UNREAD_BYTES:
            self.lose()
            return
        self._next_order += 1
        self.is_whole = not part.more
        self._unread_bytes += len(part.body)
        self._parts.put_nowait(part)
        self.begun.set()

    def lose(self) -> None:
        self._lost = True
        self._parts.put_nowait(None)
        self.begun.set()

    async def next_part(self) -> Part:
        """Waits for the next part. Raises `Lost`."""
        if (part := await self._parts.get()) is None:
            raise Lost
        self._unread_bytes -= len(part.body)
        return part


AWAY = "The process that holds this session does not answer."
LOST_IT = "The process that held this session has ended before it answered."
AGAIN_SECONDS = 1.0
"""Seconds without a frame of the owner after which a request is sent again: it may have been lost."""
LEAVE_SECONDS, LEAVE_AGAIN_SECONDS = 10.0, 0.2
SECRET = (b"authorization", b"proxy-authorization", b"cookie")
USER_TOKEN = f"{PREFIX}userToken"
ANSWERED, GONE, UNREACHED, LOST = "answered", "gone", "unreached", "lost"
"""Outcomes of a forwarded request: its owner began to answer, had ended, was not reached, or was lost before it answered."""


class Forwarder:
    """Forwards requests to their owners. Repeats a request, which may get lost, until the owner's first message, at most for
    `patience_seconds`; then waits `ANSWER_SECONDS` for the answer to begin. `identifier` authenticates the caller here, so
    that no token is forwarded."""

    def __init__(self, relay: Relay, patience_seconds: float, registry: CollectorRegistry, identifier: Identifier) -> None:
        self._relay, self._patience_seconds, self._identifier = relay, patience_seconds, identifier
        about = "Requests passed on to the process of their session."
        self._forwarded = Counter("manga_relay_forwarded", about, ["outcome"], registry=registry)
        for outcome in (ANSWERED, GONE, UNREACHED, LOST):
            self._forwarded.labels(outcome)
        self._numbers = itertools.count(1)
        self._open: dict[int, Answer] = {}
        self._leaving = Tasks()

    def __len__(self) -> int:
        return len(self._open)

    async def forward(self, owner: str, to: str, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        number, answer = next(self._numbers), Answer(owner)
        self._open[number] = answer
        outcome = ANSWERED
        try:
            ask = await self._ask(number, to, body, scope)
            passing = self._pass_back(ask, answer, body, send)
            # A message to an SSE stream is accepted or refused at once, and stays accepted when its client leaves.
            await (passing if to == MESSAGES else _while_connected(receive, asyncio.ensure_future(passing)))
        except ProcessEnded:
            outcome = GONE
            not_found = refusal(INVALID_REQUEST, "Session not found", 404)  # as the owner would respond
            await (not_found if to == SESSIONS else plain(404, "There is no such session."))(scope, receive, send)
        except Unreached:
            outcome = UNREACHED
            await unavailable(to, body, AWAY)(scope, receive, send)
        except Lost:
            outcome = LOST
            await unavailable(to, body, LOST_IT)(scope, receive, send)
        finally:
            del self._open[number]
            self._forwarded.labels(outcome).inc()
            if answer.sent and not answer.is_whole:
                self._leaving.start(self._cancel(owner, Cancel(self._relay.own, number, to)), "relay-leave")

    def acknowledge(self, taken: Ack) -> None:
        answer = self._open.get(taken.number)
        if answer is not None and answer.owner == taken.sender:
            answer.begun.set()

    def add_part(self, part: Part) -> None:
        """Adds a part to its answer. If none is awaited, sends a `Cancel` if more parts follow or the part is a 202."""
        answer = self._open.get(part.number)
        if answer is not None and answer.owner == part.sender:
            answer.add(part)
        elif part.more or part.status == ACCEPTED:
            of = MESSAGES if part.status == ACCEPTED else SESSIONS
            self._leaving.start(self._cancel(part.sender, Cancel(self._relay.own, part.number, of)), "relay-leave")

    def owners(self) -> set[str]:
        return {answer.owner for answer in self._open.values()}

    def lose(self, owner: str | None = None) -> None:
        """Gives up the incomplete answers of `owner`; if `owner` is None, those of all owners."""
        for answer in self._open.values():
            if owner is None or answer.owner == owner:
                answer.lose()

    async def aclose(self) -> None:
        """Waits up to 0.25 s until the pending `Cancel` frames are sent, and drops the rest."""
        await self._leaving.aclose(0.25)

    async def _cancel(self, owner: str, cancel: Cancel) -> None:
        """Sends a `Cancel` frame again until it arrives, up to `LEAVE_SECONDS`. Without the frame, the owner would keep a
        stream open that blocks the client's next stream."""
        with suppress(TimeoutError, ProcessEnded):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._relay.send_until_received(owner, cancel.encode(), LEAVE_AGAIN_SECONDS)

    async def _ask(self, number: int, to: str, body: bytes, scope: Scope) -> Ask:
        body, tokens = strip_tokens(body)
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
            user=principal_of(scope),
            waited_ms=round(1000 * (time.monotonic() - scope["manga.arrived"])),
            body=body,
            bearer=vouched.bearer,
            tokens=dict(vouched.tokens),
            window=WINDOW,
        )

    async def _first_part(self, ask: Ask, answer: Answer) -> Part:
        """Sends the request until its arrival is known, and returns the first part of the answer. The owner runs a repeated
        request only once. Raises `ProcessEnded`, `Lost`, or `Unreached` if the owner does not respond in time."""
        message = ask.encode()
        give_up = time.monotonic() + self._patience_seconds
        while True:
            try:
                await self._relay.send(answer.owner, message)
                answer.sent = True
            except DeliveryUnknown:
                answer.sent = True
            except Unreached as failure:
                if isinstance(failure, ProcessEnded) or not answer.sent:
                    raise
            left = give_up - time.monotonic()
            if await wait_for(answer.begun, min(AGAIN_SECONDS, left)):
                try:
                    async with asyncio.timeout(ANSWER_SECONDS):
                        return await answer.next_part()
                except TimeoutError:
                    raise Unreached from None
            if left <= AGAIN_SECONDS:
                raise Unreached

    async def _pass_back(self, ask: Ask, answer: Answer, body: bytes, send: Send) -> None:
        """Passes the answer to the client. Raises `Lost`, `ProcessEnded` or `Unreached` if no part has arrived. If later
        parts are lost, ends with an error for each unanswered request in `body`, so that the client does not wait for
        ever."""
        part = await self._first_part(ask, answer)
        await send({"type": "http.response.start", "status": part.status, "headers": part.headers})
        unanswered = Unanswered(body if is_stream(part.headers) else b"")
        try:
            while True:
                unanswered.feed(part.body)
                rest = b"" if part.more else unanswered.errors(LOST_IT)
                await send({"type": "http.response.body", "body": part.body + rest, "more_body": part.more})
                if not part.more:
                    return
                if (part.order + 1) % (WINDOW // 2) == 0:
                    with suppress(Unreached):  # the next `Progress` makes up for a lost one
                        progress = Progress(self._relay.own, ask.number, part.order + 1)
                        await self._relay.send(answer.owner, progress.encode())
                part = await answer.next_part()
        except Lost:
            await send({"type": "http.response.body", "body": unanswered.errors(LOST_IT), "more_body": False})


async def _while_connected(receive: Receive, passing: asyncio.Future[None]) -> None:
    async def disconnect() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    leaving = asyncio.create_task(disconnect(), name="relay-gone")
    try:
        await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            passing.result()
    finally:
        await end_task(passing, leaving)


def unavailable(to: str, body: bytes, why: str) -> Response:
    """Returns the response if an owner is not reached. For `SESSIONS` it has a JSON-RPC error for each request in `body`,
    since clients of mcp 1.x stop posting after a failed POST. Otherwise, or if `body` has no request, it is a 503."""
    if to != SESSIONS:
        return busy(why)
    if (error := error_of(body, why)) is not None:
        return Response(error, media_type="application/json")
    if errors := Unanswered(body).errors(why):
        return Response(errors, media_type="text/event-stream")
    return refusal(INVALID_REQUEST, why, 503)


def strip_tokens(body: bytes) -> tuple[bytes, dict[str, str]]:
    """Replaces the customers' tokens in the messages of a body by their SHA-256 hashes. Returns the new body, and the tokens
    by hash."""
    try:
        message = read_message(body)
    except (ValueError, RecursionError):
        return body, {}
    tokens: dict[str, str] = {}
    for each in message if isinstance(message, list) else [message]:
        match each:
            case {"params": {"_meta": dict(meta)}} if isinstance(token := meta.get(USER_TOKEN), str) and token:
                name = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
                tokens[name] = token
                meta[USER_TOKEN] = name
    return (json.dumps(message).encode(), tokens) if tokens else (body, {})
