"""Serves the agent over HTTP: `POST /turns`, `POST /door`, `GET /healthz`. SIGTERM lets open questions be answered first."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from strands.models import Model

from infra.agent.answering import LONE_SURROGATE, Answering, Done
from infra.agent.customers import Customers, InvalidToken
from infra.agent.door import Door, session_of
from infra.agent.options import ServiceSettings
from infra.agent.store import Store

logger = logging.getLogger(__name__)

_UNTIL = re.compile(r"[0-9]{1,20}")
SESSION = re.compile(r"[A-Za-z0-9._:-]{1,128}")
MOST_CHARACTERS = 2000
MOST_BYTES = 16_384
MOST_TURNS = 100
"""Most conversations with open questions; questions of further ones are refused at once. Each answers one at a time."""
MOST_OF_ONE = 10
"""Most open questions of one customer, or of one conversation without a customer: as many as the WebSocket gateway
(infra/door) allows sockets of one customer."""
BODY_SECONDS = 10
THREADS = MOST_TURNS + 20
"""Worker threads: a turn's model stream takes one; a recall, or a message through the door, takes one briefly."""
IDLE_SECONDS = 75
"""Keep-alive timeout, longer than a load balancer's (60 s)."""
CLOSE_SECONDS = 1
BEARER = {"WWW-Authenticate": "Bearer"}


class Service(uvicorn.Server):
    """uvicorn server without signal handlers: uvicorn's raise SIGTERM again after a graceful stop, and so exit with 143."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Refused(HTTPException):
    """HTTP error response; `name` is its machine-readable kind."""

    def __init__(self, status: int, name: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)
        self.name = name


@dataclass(slots=True)
class Line:
    """A question's line in the log, without user, text and address. `status`: the HTTP status. `outcome`: `Done.outcome` or
    `Refused.name`; "left" if the client disconnected first, "failed" for any other exception."""

    status: int
    outcome: str = "left"

    async def of(self, told: AsyncIterator[str | Done]) -> AsyncGenerator[str | Done, None]:
        """Yields the answer's parts unchanged, and takes `outcome` from its `Done`."""
        async for each in told:
            if isinstance(each, Done):
                self.outcome = each.outcome
            yield each


@contextmanager
def _logged(way: str, status: int) -> Iterator[Line]:
    """Logs one line when the block ends: `way` (the path), status, outcome and duration. An exception of the block decides
    status and outcome, and is raised on."""
    line, began = Line(status), time.monotonic()
    try:
        yield line
    except Refused as refusal:
        line.status, line.outcome = refusal.status_code, refusal.name
        raise
    except Exception:
        line.status, line.outcome = 500, "failed"
        raise
    finally:
        logger.info("%s %d %s %d ms", way, line.status, line.outcome, round((time.monotonic() - began) * 1000))


class QuestionHandlers:
    """HTTP handlers for customers' questions. Without a JWT issuer, allowed only on loopback, customers are not
    authenticated, and responses include the turn's tool calls."""

    def __init__(self, answering: Answering, store: Store, settings: ServiceSettings) -> None:
        self._answering = answering
        self._store = store
        self._secret = settings.door_secret or ""
        self._customers = Customers(settings.jwt) if settings.jwt else None
        self._shows_tokens = settings.store_token is not None
        self._door = Door(settings.callback or "", self._secret) if self._secret else None
        self._through_the_door: set[asyncio.Task[None]] = set()
        self._open: Counter[tuple[str, str | None]] = Counter()

    def application(self) -> Starlette:
        routes = [Route("/turns", self.take, methods=["POST"]), Route("/healthz", self.health)]
        if self._door:
            routes.append(Route("/door", self.take_from_door, methods=["POST"]))
        return Starlette(routes=routes, exception_handlers={HTTPException: _tell_refusal})

    async def health(self, request: Request) -> Response:
        """Answers 200 even while the store is unreachable: replacing the agent would not bring the store back."""
        store = "away" if self._store.connection is None else "connected"
        return JSONResponse({"status": "ok", "store": store, "open_turns": self._answering.open_turns})

    async def take(self, request: Request) -> Response:
        with ExitStack() as place:
            line = place.enter_context(_logged("/turns", 200))
            user, token = await self._proven(request)
            session = request.headers.get("X-Session-ID", "")
            if not SESSION.fullmatch(session):
                raise Refused(400, "VALIDATION_ERROR", "X-Session-ID has to be 1 to 128 of A-Z a-z 0-9 . _ : -")
            text = _question(await _body(request), "text")["text"]
            place.enter_context(self._place(session, user))
            # The customer's token is forwarded only to a store to which the agent authenticates with its own.
            events = self._events(session, text, user, token if self._shows_tokens else None, line)
            return _Turn(events, place.pop_all())

    async def take_from_door(self, request: Request) -> Response:
        """Answers 202 at once; the answer to the question, or its refusal, goes to the gateway's callback. Raises `Refused`
        for a request that the gateway did not send."""
        assert self._door is not None
        headers = request.headers
        with ExitStack() as logged:
            line = logged.enter_context(_logged("/door", 202))
            if not hmac.compare_digest(headers.get("X-Door-Secret", "").encode(), self._secret.encode()):
                raise Refused(401, "UNAUTHORIZED", "The door has to prove itself.")
            connection, user = headers.get("X-Door-Connection", ""), headers.get("X-Door-User") or None
            if not connection:
                raise Refused(400, "VALIDATION_ERROR", "X-Door-Connection is not there")
            try:
                body: bytes | Refused = await _body(request)
            except Refused as refusal:
                body = refusal
            answer = self._answer_door(connection, user, headers.get("X-Door-Until"), body, line, logged.pop_all())
        task = asyncio.create_task(answer)
        self._through_the_door.add(task)
        task.add_done_callback(self._through_the_door.discard)
        return Response(status_code=202)

    async def finish(self) -> None:
        """Waits for answers that are being sent through the gateway, which uvicorn does not wait for."""
        await asyncio.gather(*self._through_the_door, return_exceptions=True)

    async def _answer_door(
        self, connection: str, user: str | None, until: str | None, body: bytes | Refused, line: Line, logged: ExitStack
    ) -> None:
        assert self._door is not None
        try:
            with logged:
                if isinstance(body, Refused):
                    raise body
                if until is not None and not (_UNTIL.fullmatch(until) and int(until) > time.time()):
                    raise Refused(401, "UNAUTHORIZED", "Please sign in again.")
                asked = _question(body, "text", "session")
                session = asked.get("session") or session_of(connection)
                named = {"session": session} if "session" in asked else {}
                with self._place(session, user):
                    async with self._answering.answer(session, asked["text"], user) as told:
                        await self._door.answer(connection, line.of(told), named)
        except Refused as refusal:
            await self._door.refuse(connection, refusal.name, str(refusal.detail))

    async def _proven(self, request: Request) -> tuple[str | None, str | None]:
        """Returns the authenticated user and token; without an issuer, the X-User-ID header and None. Raises `Refused` (401)
        for a missing or invalid token."""
        if self._customers is None:
            return request.headers.get("X-User-ID"), None
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            if kind.lower() != "bearer":
                raise InvalidToken("Please sign in.")
            return await self._customers.authenticate(token.strip()), token.strip()
        except InvalidToken as problem:
            raise Refused(401, "UNAUTHORIZED", str(problem), BEARER) from None

    @contextmanager
    def _place(self, session: str, user: str | None) -> Iterator[None]:
        """Counts a question as open during the block. A conversation holds one place, in which its other questions wait.
        Raises `Refused` if its customer has too many questions open, or no place is left."""
        asking = session, user
        if asking not in self._open and len(self._open) >= MOST_TURNS:
            raise Refused(503, "SERVER_BUSY", "Too many questions at once; please ask again.", {"Retry-After": "1"})
        own = self._open[asking] if user is None else sum(self._open[each] for each in self._open if each[1] == user)
        if own >= MOST_OF_ONE:
            text = f"You have {MOST_OF_ONE} questions open; please wait for an answer."
            raise Refused(429, "RATE_LIMITED", text, {"Retry-After": "1"})
        self._open[asking] += 1
        try:
            yield
        finally:
            self._open[asking] -= 1
            self._open += Counter()  # removes conversations without open questions

    async def _events(
        self, session: str, text: str, user: str | None, token: str | None, line: Line
    ) -> AsyncGenerator[str, None]:
        async with self._answering.answer(session, text, user, token) as told:
            async for each in line.of(told):
                if isinstance(each, str):
                    yield _event("words", {"text": each})
                else:
                    what = {} if self._customers else {"outcome": each.outcome, "calls": each.calls, "spent": each.spent}
                    yield _event("done", {"turn": each.turn, "ms": each.ms, **what})


class _Turn(StreamingResponse):
    """Event stream of a turn. The turn counts as open until the stream is sent or the client disconnects."""

    def __init__(self, events: AsyncGenerator[str, None], place: ExitStack) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._events, self._place = events, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _question(body: bytes, *known: str) -> dict[str, str]:
    """Parses and checks the JSON body of a question; keys other than `known` are refused. Raises `Refused` (400)."""
    try:
        posted: Any = json.loads(body)
    except (ValueError, RecursionError):
        posted = None
    if not isinstance(posted, dict):
        raise Refused(400, "VALIDATION_ERROR", "the body is not a JSON object")
    if unknown := sorted(set(posted) - set(known)):
        raise Refused(400, "VALIDATION_ERROR", f"{unknown[0][:40]!r} is not known here; there is {' and '.join(known)}")
    text, session = posted.get("text"), posted.get("session", "-")
    if not (isinstance(text, str) and 0 < len(text.strip()) <= MOST_CHARACTERS):
        raise Refused(400, "VALIDATION_ERROR", f"text has to be a text of 1 to {MOST_CHARACTERS} characters")
    if LONE_SURROGATE.search(text):
        raise Refused(400, "VALIDATION_ERROR", "text has half a character, which no answer could hold")
    if not (isinstance(session, str) and SESSION.fullmatch(session)):
        raise Refused(400, "VALIDATION_ERROR", "session has to be 1 to 128 of A-Z a-z 0-9 . _ : -")
    return posted


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise Refused(413, "VALIDATION_ERROR", f"a question has {MOST_BYTES} bytes at most")
    except TimeoutError:
        raise Refused(408, "VALIDATION_ERROR", f"a question has to be whole within {BODY_SECONDS} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "VALIDATION_ERROR", "the question is not whole") from None
    return body


async def _tell_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = error.name if isinstance(error, Refused) else "NOT_FOUND"
    return JSONResponse({"error": {"name": name, "message": error.detail}}, error.status_code, error.headers)


async def serve(url: str, model: Model, host: str, port: int, patience_ms: int, settings: ServiceSettings) -> None:
    """Serves HTTP until SIGTERM or SIGINT, then refuses new questions and answers the open ones. `url`: the store's SSE
    address. `patience_ms`: limit of each answer."""
    bearer = {"Authorization": f"Bearer {settings.store_token}"} if settings.store_token else None
    store = Store(url, bearer)
    manners = {"calls": settings.turn_calls, "tokens": settings.turn_tokens, "only": settings.tools}
    answering = Answering(store, model, patience_ms, **manners)
    desk = QuestionHandlers(answering, store, settings)
    config = uvicorn.Config(
        desk.application(),
        host=host,
        port=port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=2 * -(-patience_ms // 1000) + CLOSE_SECONDS,  # a question may wait for an earlier one
    )
    service, loop = Service(config), asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "agent"))
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, setattr, service, "should_exit", True)
    store.open()
    logger.info("listening on http://%s:%d", host, port)
    try:
        await service.serve()
        await desk.finish()
    finally:
        store.close()
    logger.info("stopped")
