"""Reading a request's body, within bounds."""

from __future__ import annotations

from starlette.types import Receive


async def read_body(receive: Receive, most: int) -> bytes | None:
    """None when it is too large, or when the client went away before its end."""
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] != "http.request":
            return None
        body += part.get("body", b"")
        if len(body) > most:
            return None
        if not part.get("more_body", False):
            return bytes(body)
