"""The messages that are posted to open streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies
from server.transport.http.bounds.holders import holder_of, owner_of
from server.transport.http.bounds.posted import Posted, trimmed_params
from server.transport.http.responses import busy, plain
from server.transport.http.sse.messages import MOST_UNREAD, Outgoing
from server.transport.http.sse.stream import STREAM, SseStream


class Refused(Exception):
    """A message is not taken; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


@dataclass(frozen=True, slots=True)
class SsePosts:
    """Takes one message of a client with an open stream. The answer comes on the stream; here it is 202, or what is wrong.

    `streams` are the open ones by name; `used` is told of each to which something was posted."""

    streams: Mapping[str, SseStream]
    used: Callable[[SseStream], None]
    bodies: Bodies
    admission: Admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            name, stream = self._addressed(scope)
            message = await self._read(scope, receive)
            if stream.incoming.full:
                raise Refused(busy("This session has too many messages waiting."))
            scope[STREAM] = name
            metadata = ServerMessageMetadata(request_context=Request(scope))
            if isinstance(message, types.JSONRPCRequest):
                _begin(message, stream.outgoing, metadata)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        self.used(stream)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        stream.incoming.put(SessionMessage(message, metadata))

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
            raise Refused(plain(404, "There is no such session."))
        return name, stream

    async def _read(self, scope: Scope, receive: Receive) -> types.JSONRPCMessage:
        """Reads the message, as far as it may be let in. Raises `Refused`."""
        body = await self.bodies.read(receive, holder_of(scope))
        if isinstance(body, Response):
            raise Refused(body)
        try:
            message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
        except ValidationError:
            raise Refused(plain(400, "This is no JSON-RPC message.")) from None
        posted = Posted.of_message(message, len(body))
        refusal = None if posted is None else self.admission.refusal(scope, posted)
        if refusal is not None:
            raise Refused(refusal)
        return message


def _begin(request: types.JSONRPCRequest, outgoing: Outgoing, metadata: ServerMessageMetadata) -> None:
    """Notes that a request is under way, until it is answered or was cancelled. Raises `Refused`."""
    number = str(request.id)
    if outgoing.full:
        raise Refused(busy("This session has too many answers waiting to be read."))
    if len(outgoing.under_way) >= MOST_UNREAD:
        raise Refused(busy("This session has too many requests under way."))
    if number in outgoing.under_way:
        raise Refused(plain(400, "There is a request with this id under way in this session."))

    async def unanswered() -> None:
        outgoing.under_way.discard(number)

    outgoing.under_way.add(number)
    metadata.on_request_unanswered = unanswered
    if request.method == "initialize":
        request.params = trimmed_params(request.params or {})


def _named(query: bytes) -> str | None:
    values = parse_qs(query.decode("latin-1")).get("session_id")
    return values[0] if values else None
