"""How an answer ends that was cut on its way: with an error for the request that it was to answer, where it can hold one."""

from __future__ import annotations

from mcp_types import INTERNAL_ERROR
from pydantic_core import from_json, to_json

from server.transport.relay.frames import Pairs


def end_of(headers: Pairs, asked: bytes, why: str) -> bytes:
    """Returns the last bytes of a response with these headers; `asked` is the request's body. A stream that answers a
    request tells of it by an event; any other ends as if nothing more were to be said, and its client opens a new one."""
    number = _number_of(asked) if (b"content-type", b"text/event-stream") in _kinds(headers) else None
    if number is None:
        return b""
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": INTERNAL_ERROR, "message": why}}
    return b"event: message\r\ndata: %b\r\n\r\n" % to_json(error)


def _kinds(headers: Pairs) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value.partition(b";")[0].strip()) for name, value in headers]


def _number_of(asked: bytes) -> int | str | None:
    try:
        message = from_json(asked)
    except ValueError:
        return None
    number = message.get("id") if isinstance(message, dict) and "method" in message else None
    return number if isinstance(number, int | str) else None
