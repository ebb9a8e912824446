"""A stream of MCP messages over SSE or a WebSocket: admits and queues the client's messages, and writes the server's.

It replaces the SDK's `SseServerTransport`, whose further tasks and debug output take a quarter of a cached call's time."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import mcp_types as types
from anyio.abc import AsyncResource
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope, Send

from server.transport.http.bodies import Admission
from server.transport.http.responses import HEADERS, busy, dump_answer, frame_event, notify_sent, plain
from server.transport.http.slots import Slot, customer_of, holder_of, principal_of
from server.transport.messages import (
    BAD_ID,
    DUPLICATE_ID,
    NO_MESSAGE,
    InvalidBatch,
    error_for,
    has_batches,
    is_array,
    read_id,
    split_batch,
    trim_params,
)

MESSAGES = "/messages/"
"""The path to which the messages of an SSE stream are posted."""
MOST_UNREAD = 256
"""Maximum queued messages, and maximum running requests, of a stream. More are a flood: messages are not queued for long."""
MOST_UNREAD_BYTES = 2**18
"""Maximum bytes of a stream that its client has not read, beyond the megabytes that the socket holds."""
Unread = tuple[contextvars.Context, SessionMessage] | None
Admitted = list[SessionMessage | types.JSONRPCError]
"""Messages for the server, and the errors that answer the other entries of a batch."""
STREAM = "manga.stream"
"""Scope key of the `Stream` to which a message belongs."""


class Incoming(AsyncResource):
    """The queue of the client's messages, as an async iterator. `last_context` is the context in which the message last read
    was posted. `ready`, if set, is awaited before each message is returned."""

    def __init__(self) -> None:
        self.ready: Callable[[], Awaitable[object]] | None = None
        self.take_directly: Callable[[SessionMessage], bool] | None = None
        """Called with each new message; if it returns True, the message is not queued."""
        self._unread: asyncio.Queue[Unread] = asyncio.Queue()
        self.is_ended = False
        self.last_context: contextvars.Context | None = None

    def has_room(self, messages: int) -> bool:
        return self._unread.qsize() + messages <= MOST_UNREAD

    def put(self, message: SessionMessage) -> None:
        if self.take_directly is None or not self.take_directly(message):
            self._unread.put_nowait((contextvars.copy_context(), message))

    def end(self) -> None:
        """Ends the queue, since the client has gone or may send no more."""
        self.is_ended = True
        self._unread.put_nowait(None)

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        if (item := await self._unread.get()) is None:
            self.end()  # for the next reader
            raise StopAsyncIteration
        if self.ready is not None:
            await self.ready()
        self.last_context, message = item
        return message

    receive = __anext__

    async def aclose(self) -> None: ...


class Outgoing(AsyncResource):
    """The server's messages, each written as an SSE event when the socket takes it."""

    _frame: Callable[[bytes], bytes] = staticmethod(frame_event)

    def __init__(self, send: Send) -> None:
        self._send = send
        self._closed = False
        self.under_way: set[types.RequestId] = set()
        """Ids of requests that are neither answered nor cancelled."""
        self.unread_bytes = 0
        self.all_read = asyncio.Event()
        """Set while no bytes wait to be written."""
        self.all_read.set()
        self._writing = asyncio.Lock()

    async def open(self, endpoint: str) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self.write(b"event: endpoint\r\ndata: %b\r\n\r\n" % endpoint.encode())

    async def send(self, item: SessionMessage) -> None:
        """Sends a message. Raises `anyio.ClosedResourceError` after `aclose`."""
        if self._closed:
            raise anyio.ClosedResourceError
        await self.write(self._frame(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()))
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self.under_way.discard(item.message.id)
            notify_sent()

    async def answer(self, number: types.RequestId, name: bytes, value: bytes) -> None:
        """Answers request `number` with the JSON `value`; `name` is "result" or "error". Frames the answer only when it is
        written, so that waiting answers can share one `value`. The request is under way until then."""
        async with self._turn(len(value)):
            self.under_way.discard(number)
            await self._write(self._frame(dump_answer(number, name, value)))
        notify_sent()

    async def write(self, data: bytes) -> None:
        async with self._turn(len(data)):
            await self._write(data)

    @asynccontextmanager
    async def _turn(self, size: int) -> AsyncIterator[None]:
        """Holds the write lock during the block. Counts `size` bytes as unread until the end of the block."""
        self.unread_bytes += size
        self.all_read.clear()
        try:
            async with self._writing:
                yield
        finally:
            self.unread_bytes -= size
            if not self.unread_bytes:
                self.all_read.set()

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def aclose(self) -> None:
        self._closed = True

    async def finish(self) -> None:
        """Ends the response, even after `aclose`."""
        self._closed = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclass(slots=True, eq=False, kw_only=True)
class Stream(Slot):
    """An open stream. `name` serves as the session of calls that state no session. `transport` is "sse" or "websocket".
    `owner` is the principal that opened the stream, None without authentication. `batches` is True if the protocol version
    that was agreed, or first asked for, has batches. Cancelling `scope`, as `end` does, ends the conversation."""

    name: str
    transport: str
    owner: str | None
    incoming: Incoming = field(default_factory=Incoming)
    outgoing: Outgoing
    batches: bool | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def __post_init__(self) -> None:
        self.incoming.ready = self.outgoing.all_read.wait  # no message is begun while an answer is unread

    def busy(self) -> bool:
        return bool(self.outgoing.under_way)

    def end(self) -> None:
        self.scope.cancel()

    async def put(self, admitted: Admitted) -> None:
        """Queues the messages for the server, and sends the errors to the client."""
        for message in admitted:
            if isinstance(message, SessionMessage):
                self.incoming.put(message)
        for error in admitted:
            if isinstance(error, types.JSONRPCError):
                with suppress(anyio.ClosedResourceError):  # the stream has ended
                    await self.outgoing.send(SessionMessage(error))


def stream_for(scope: Scope, outgoing: Outgoing, name: str, transport: str) -> Stream:
    holder, customer, owner = holder_of(scope), customer_of(scope["headers"]), principal_of(scope)
    return Stream(holder=holder, customer=customer, owner=owner, name=name, transport=transport, outgoing=outgoing)


class Refused(Exception):
    """Raised for a message that is not accepted. `response` is the HTTP response that refuses it."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response

    def error(self, body: bytes) -> types.JSONRPCError:
        """Returns the JSON-RPC error that answers the message in `body`, without an id that a running request uses."""
        sentence = bytes(self.response.body).decode().strip()
        number = None if sentence == DUPLICATE_ID else read_id(body)
        return error_for(
            sentence, number, types.INTERNAL_ERROR if self.response.status_code == 503 else types.INVALID_REQUEST
        )


def admit(body: bytes, stream: Stream, scope: Scope, admission: Admission) -> Admitted:
    """Checks a message or a batch, and registers its requests as running. Raises `Refused` if a single message or a batch as
    a whole is refused. If single entries of a batch are refused, they become errors."""
    scope[STREAM] = stream
    if not (stream.batches and is_array(body)):
        _check_room(stream, 1)
        return [_admit_one(body, stream, scope, admission)]
    try:
        entries = split_batch(body)
    except InvalidBatch as invalid:
        raise Refused(plain(400, str(invalid))) from None
    _check_room(stream, len(entries))
    admitted: Admitted = []
    for entry in entries:
        if isinstance(entry, types.JSONRPCError):
            admitted.append(entry)
            continue
        try:
            admitted.append(_admit_one(entry, stream, scope, admission))
        except Refused as refused:
            admitted.append(refused.error(entry))
    return admitted


def _check_room(stream: Stream, messages: int) -> None:
    if not stream.incoming.has_room(messages):
        raise Refused(busy("This session has too many messages waiting."))
    if messages > 1 and len(stream.outgoing.under_way) + messages > MOST_UNREAD:
        raise Refused(busy("This session has too many requests under way."))


def _admit_one(body: bytes, stream: Stream, scope: Scope, admission: Admission) -> SessionMessage:
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        raise Refused(plain(400, NO_MESSAGE)) from None
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in body and "id" in from_json(body):
        raise Refused(plain(400, BAD_ID))
    if isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
        refusal = admission.refusal(scope, message.method, len(body))
        if refusal is not None:
            raise Refused(refusal)
    metadata = ServerMessageMetadata(request_context=Request(scope))
    if isinstance(message, types.JSONRPCRequest):
        _begin(message, stream.outgoing, metadata)
        if message.method == "initialize":
            message.params = trim_params(message.params or {}, admission.extensions)
            if stream.batches is None:
                stream.batches = has_batches(message.params.get("protocolVersion"))
    return SessionMessage(message, metadata)


def _begin(request: types.JSONRPCRequest, outgoing: Outgoing, metadata: ServerMessageMetadata) -> None:
    """Registers a request until it is answered or cancelled. Raises `Refused` for an id in use, or too much pending."""
    number = request.id
    if outgoing.unread_bytes >= MOST_UNREAD_BYTES:
        raise Refused(busy("This session has too many answers waiting to be read."))
    if len(outgoing.under_way) >= MOST_UNREAD:
        raise Refused(busy("This session has too many requests under way."))
    if number in outgoing.under_way:
        raise Refused(plain(400, DUPLICATE_ID))

    async def discard() -> None:
        outgoing.under_way.discard(number)

    outgoing.under_way.add(number)
    metadata.on_request_unanswered = discard
