"""What a client is told in place of an answer that does not come."""

from __future__ import annotations

from starlette.responses import Response

from server.transport.http.responses import busy
from server.transport.http.streamable.answered import Unanswered, error_of
from server.transport.http.streamable.refusals import INVALID_REQUEST, refusal
from server.transport.relay.frames import SESSIONS


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
