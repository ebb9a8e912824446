"""What a client is told in place of an answer that does not come, or whose rest does not."""

from __future__ import annotations

from starlette.responses import Response

from server.transport.http.responses import busy
from server.transport.http.streamable.answered import error_event, error_of, is_stream
from server.transport.http.streamable.refusals import INVALID_REQUEST, refusal
from server.transport.relay.frames import SESSIONS, Pairs


def in_place(to: str, asked: bytes, why: str) -> Response:
    """Returns the response to what was `asked`. A request of Streamable HTTP is answered by an error of its own: a client of
    mcp 1.x whose POST fails posts nothing any more, and its call waits for ever. All else is told to come back."""
    if to == SESSIONS and (error := error_of(asked, why)) is not None:
        return Response(error, media_type="application/json")
    return refusal(INVALID_REQUEST, why, 503) if to == SESSIONS else busy(why)


def end_of(headers: Pairs, asked: bytes, why: str) -> bytes:
    """Returns the last bytes of a response with these headers that has begun. A stream that answers a request tells of it by
    an event; any other ends as if nothing more were to be said, and its client opens a new one."""
    return error_event(asked, why) if is_stream(headers) else b""
