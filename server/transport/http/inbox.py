"""What a client says on an open stream, as far as it is let in: a message, or a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.bodies import Admission, Bodies, Posted, trimmed_params
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of, owner_of
from server.transport.http.streams import MOST_UNREAD, STREAM, Outgoing, SseStream
from server.transport.messages import NO_MESSAGE, TWICE, NoBatch, has_batches, id_of, is_array, refused, split

CLASH = plain(400, TWICE).body


class Refused(Exception):
    """A message is not taken; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response

    def error(self, body: bytes) -> types.JSONRPCError:
        """Says the same as an answer to the message in `body`; without its id where another request has it."""
        sentence, full = bytes(self.response.body).decode().strip(), self.response.status_code == 503
        number = None if self.response.body == CLASH else id_of(body)
        return refused(sentence, number, types.INTERNAL_ERROR if full else types.INVALID_REQUEST)


@dataclass(slots=True)
class Taken:
    """What the server is to read, and what is answered in its place."""

    messages: list[SessionMessage] = field(default_factory=list)
    errors: list[types.JSONRPCError] = field(default_factory=list)


def take(body: bytes, stream: SseStream, scope: Scope, admission: Admission) -> Taken:
    """Lets in what `body`, which is within the bounds of a message, has to say. Its requests are under way from now on.

    Raises `Refused` when nothing of it is taken."""
    if not (stream.batches and is_array(body)):
        _check_room(stream, 1)
        return Taken([_message(body, stream, scope, admission)])
    try:
        entries = split(body)
    except NoBatch as none:
        raise Refused(plain(400, str(none))) from None
    _check_room(stream, len(entries))
    taken = Taken()
    for entry in entries:
        if isinstance(entry, types.JSONRPCError):
            taken.errors.append(entry)
            continue
        try:
            taken.messages.append(_message(entry, stream, scope, admission))
        except Refused as no:
            taken.errors.append(no.error(entry))
    return taken


def _check_room(stream: SseStream, messages: int) -> None:
    if not stream.incoming.has_room(messages):
        raise Refused(busy("This session has too many messages waiting."))
    if messages > 1 and len(stream.outgoing.under_way) + messages > MOST_UNREAD:
        raise Refused(busy("This session has too many requests under way."))


def _message(body: bytes, stream: SseStream, scope: Scope, admission: Admission) -> SessionMessage:
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        raise Refused(plain(400, NO_MESSAGE)) from None
    posted = Posted.of_message(message, len(body))
    if posted is not None and (refusal := admission.refusal(scope, posted)) is not None:
        raise Refused(refusal)
    metadata = ServerMessageMetadata(request_context=Request(scope))
    if isinstance(message, types.JSONRPCRequest):
        _begin(message, stream.outgoing, metadata, admission)
        if message.method == "initialize":
            stream.batches = has_batches((message.params or {}).get("protocolVersion"))
    return SessionMessage(message, metadata)


def _begin(request: types.JSONRPCRequest, outgoing: Outgoing, metadata: ServerMessageMetadata, admission: Admission) -> None:
    """Notes that a request is under way, until it is answered or was cancelled. Raises `Refused`."""
    number = request.id
    if outgoing.full:
        raise Refused(busy("This session has too many answers waiting to be read."))
    if len(outgoing.under_way) >= MOST_UNREAD:
        raise Refused(busy("This session has too many requests under way."))
    if number in outgoing.under_way:
        raise Refused(plain(400, TWICE))

    async def unanswered() -> None:
        outgoing.under_way.discard(number)

    outgoing.under_way.add(number)
    metadata.on_request_unanswered = unanswered
    if request.method == "initialize":
        request.params = trimmed_params(request.params or {}, admission.extensions)


NAMED = b"session_id="
GONE = "There is no such session."


@dataclass(frozen=True, slots=True)
class SsePosts:
    """Takes one message of a client with an open stream, or a batch. The answer comes on the stream; here it is 202, or what
    is wrong.

    `streams` are the open ones by name; `used` is told of each to which something was posted."""

    streams: Mapping[str, SseStream]
    used: Callable[[SseStream], None]
    bodies: Bodies
    admission: Admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            name, stream = self._addressed(scope)
            body = await self.bodies.read(receive, holder_of(scope), scope["headers"])
            if isinstance(body, Response):
                raise Refused(body)
            if self.streams.get(name) is not stream:  # it has ended while the body came: nothing would answer
                raise Refused(plain(404, GONE))
            scope[STREAM] = name
            taken = take(body, stream, scope, self.admission)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        self.used(stream)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        await stream.take(taken.messages, taken.errors)

    def _addressed(self, scope: Scope) -> tuple[str, SseStream]:
        """Finds the stream by its name in the query. Raises `Refused`."""
        if scope["method"] != "POST":
            raise Refused(plain(405, "Only POST is served here.", {"Allow": "POST"}))
        if not Headers(scope=scope).get("content-type", "").lower().startswith("application/json"):
            raise Refused(plain(400, "The Content-Type has to be application/json."))
        name = _named(scope["query_string"])
        if not name:
            raise Refused(plain(400, "session_id is required."))
        stream = self.streams.get(name)
        if stream is None or stream.owner != owner_of(scope):
            # Whoever is not the one that opened it learns nothing, not even that there is such a stream.
            raise Refused(plain(404, GONE))
        return name, stream


def _named(query: bytes) -> str | None:
    if query.startswith(NAMED) and query[len(NAMED) :].isalnum():  # as streams name it, and nothing else
        return query[len(NAMED) :].decode("ascii")
    values = parse_qs(query.decode("latin-1")).get("session_id")
    return values[0] if values else None
