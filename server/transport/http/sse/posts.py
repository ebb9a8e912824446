"""The messages that are posted to open streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies
from server.transport.http.bounds.holders import holder_of, owner_of
from server.transport.http.responses import plain
from server.transport.http.sse.inbox import Refused, take
from server.transport.http.sse.stream import STREAM, SseStream

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
