"""Reading requests' bodies, within bounds."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Message, Receive

from server.http.answers import busy, plain

TOGETHER = 64


class Bodies:
    """At most `most` bytes each, and 64 times as much of all that are being read: many that are sent slowly add up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._being_read = 0

    async def read(self, receive: Receive) -> bytes | Response:
        """The body, or what to answer in its place."""
        body = bytearray()
        try:
            while True:
                part = await receive()
                if part["type"] != "http.request":
                    return plain(400, "The body is not whole.")  # the client has gone, and will not read this
                piece = part.get("body", b"")
                body += piece
                self._being_read += len(piece)
                if len(body) > self._most:
                    return plain(413, f"A message has at most {self._most} bytes.")
                if self._being_read > TOGETHER * self._most:
                    return busy("There are as many messages on their way as this server reads at once.")
                if not part.get("more_body", False):
                    return bytes(body)
        finally:
            self._being_read -= len(body)


def read_again(body: bytes, receive: Receive) -> Receive:
    """For whoever reads the body once more; what follows comes from the client as ever."""
    read = False

    async def receiving() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
