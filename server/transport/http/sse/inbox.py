"""What a client says on an open stream, as far as it is let in: a message, or a batch of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from server.transport.batches.split import NO_MESSAGE, TWICE, NoBatch, has_batches, id_of, is_array, refused, split
from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.posted import Posted, trimmed_params
from server.transport.http.responses import busy, plain
from server.transport.http.sse.messages import MOST_UNREAD, Outgoing
from server.transport.http.sse.stream import SseStream

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
