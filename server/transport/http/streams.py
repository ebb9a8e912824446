"""One SSE stream as the SDK's server sees it: messages come in through a queue and go out as events, at once.

Not the SDK's `SseServerTransport`: that one passes each answer through two more tasks and three streams, and formats every
message for a debug log that nobody reads, which together are a quarter of what a cached call costs.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.shared.message import SessionMessage
from pydantic_core import to_json
from starlette.types import Send

from server.transport.http.responses import sent
from server.transport.http.slots import Slot

MESSAGES = "/messages/"
"""Where what belongs to a stream is posted."""
MOST_UNREAD = 256
"""Messages that a stream may have waiting for the server; it reads them as they come, so these are a flood."""
MOST_UNREAD_BYTES = 2**18
"""What may wait for a client that does not read its stream, beyond the megabytes that the socket has taken."""
MOST_AT_WORK = 32
"""Requests of one stream that are begun and not answered, of those that are answered at length: the others wait."""
HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)
Item = SessionMessage | Exception
Unread = tuple[contextvars.Context, SessionMessage] | None
Taken = Callable[[SessionMessage], bool]
MOST_LEADING = 8
"""Messages before the first request."""


class _Closing:
    """What both directions have in common: an async context that closes."""

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming(_Closing):
    """What the client has posted. `last_context` is the context of the POST that brought the message last read; `ready`
    waits until there is something to be read at all."""

    def __init__(self) -> None:
        self.ready: Callable[[], Awaitable[object]] | None = None
        self._unread: asyncio.Queue[Unread] = asyncio.Queue()
        self._lead: deque[Unread] = deque()
        self._taken: Taken | None = None
        self.last_context: contextvars.Context | None = None

    def has_room(self, messages: int) -> bool:
        return self._unread.qsize() + messages <= MOST_UNREAD

    def put(self, message: SessionMessage) -> None:
        if self._taken is None or not self._taken(message):
            self._unread.put_nowait((contextvars.copy_context(), message))

    def pass_by(self, taken: Taken | None) -> None:
        """Shows each further message to `taken` first: what that takes is not read here."""
        self._taken = taken

    async def opening(self) -> types.JSONRPCRequest | None:
        """The first request, which is read again, with what came before it; None where the client leaves without one. As
        with the SDK, of what comes before it only so much is kept."""
        while (item := await self._unread.get()) is not None:
            request = isinstance(item[1].message, types.JSONRPCRequest)
            if request or len(self._lead) < MOST_LEADING:
                self._lead.append(item)
            if isinstance(item[1].message, types.JSONRPCRequest):
                return item[1].message
        self.end()
        return None

    def end(self) -> None:
        """The client has gone: there is nothing more to read."""
        self._unread.put_nowait(None)

    async def receive(self) -> Item:
        item = self._lead.popleft() if self._lead else await self._unread.get()
        if item is None:
            self.end()  # for whoever asks again
            raise anyio.EndOfStream
        if self.ready is not None:
            await self.ready()
        self.last_context, message = item
        return message

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Outgoing(_Closing):
    """What the server says: an event each, as far as the socket takes it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._closed = False
        self.under_way: set[types.RequestId] = set()
        """Ids of requests that were posted and are neither answered nor cancelled."""
        self._unread_bytes = 0
        self._nothing_unread = asyncio.Event()
        self._nothing_unread.set()
        self._one = asyncio.Lock()
        self._at_work = asyncio.Semaphore(MOST_AT_WORK)

    @property
    def full(self) -> bool:
        return self._unread_bytes >= MOST_UNREAD_BYTES

    async def open(self, endpoint: str) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self.write(b"event: endpoint\r\ndata: %b\r\n\r\n" % endpoint.encode())

    async def send(self, item: SessionMessage) -> None:
        """Raises `anyio.ClosedResourceError` after the end."""
        if self._closed:
            raise anyio.ClosedResourceError
        await self.write(self._framed(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()))
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self.under_way.discard(item.message.id)
            sent()

    async def answer(self, number: types.RequestId, name: bytes, said: bytes) -> None:
        """Answers a request by its result or error, as `name` says, which is written already. It is framed when its turn
        has come, so that many answers that wait can be one text."""
        async with self._turn(len(said)):
            await self._pass_on(self._framed(b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (to_json(number), name, said)))
        self.under_way.discard(number)
        sent()

    async def write(self, data: bytes) -> None:
        async with self._turn(len(data)):
            await self._pass_on(data)

    async def taken(self) -> None:
        """Waits until nothing waits for the client to read."""
        await self._nothing_unread.wait()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Waits until another request may be begun, and counts it until its end."""
        async with self._at_work:
            await self.taken()
            yield

    @asynccontextmanager
    async def _turn(self, size: int) -> AsyncIterator[None]:
        """What is unread, until it is written; one at a time."""
        self._unread_bytes += size
        self._nothing_unread.clear()
        try:
            async with self._one:
                yield
        finally:
            self._unread_bytes -= size
            if not self._unread_bytes:
                self._nothing_unread.set()

    def _framed(self, text: bytes) -> bytes:
        # JSON as pydantic writes it has no line ends in it, so one data line holds it.
        return b"event: message\r\ndata: %b\r\n\r\n" % text

    async def _pass_on(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def aclose(self) -> None:
        self._closed = True

    async def finish(self) -> None:
        """Ends the response, whoever has closed this and however."""
        self._closed = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


STREAM = "manga.stream"
"""Where a POST's scope says which stream it belongs to."""
TRANSPORT = "manga.transport"
"""Where a scope says how a stream is served, if not by SSE."""


@dataclass(slots=True, eq=False, kw_only=True)
class SseStream(Slot):
    """`owner` is the principal that opened it; `batches` tells whether the version that was agreed on has them; to cancel
    `scope` ends its conversation."""

    owner: AuthorizationContext | None
    incoming: Incoming
    outgoing: Outgoing
    batches: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def busy(self) -> bool:
        return bool(self.outgoing.under_way)

    async def take(self, messages: list[SessionMessage], errors: list[types.JSONRPCError]) -> None:
        """Gives the server what it is to read, and the client what is answered in its place."""
        for message in messages:
            self.incoming.put(message)
        for error in errors:
            with suppress(anyio.ClosedResourceError):  # it has ended meanwhile
                await self.outgoing.send(SessionMessage(error))
