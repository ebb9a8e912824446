"""A batch, taken apart: each message of it goes the way of one that came by itself, with its own answer and its own share of
every limit. An answer leaves when it is there: "responses MAY be batched" (MCP 2025-03-26, basic)."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json, to_json

MOST_MESSAGES = 20
LAST_VERSION = "2025-03-26"
VERSIONS = frozenset(each for each in HANDSHAKE_PROTOCOL_VERSIONS if each <= LAST_VERSION)
"""Those that have batches; 2025-06-18 took them away."""
NO_MESSAGE = "This is no JSON-RPC message."
NO_INITIALIZE = "initialize is no part of a batch."
WRONG_NUMBER = f"A batch has 1 to {MOST_MESSAGES} messages."
TWICE = "There is a request with this id under way in this session."
SPACE = b" \t\r\n"


class NoBatch(Exception):
    """It is none that is taken at all, and its text says why."""


def has_batches(version: object) -> bool:
    """Tells whether an initialize that asks for this version leads to one with batches: what a server has, it agrees to, and
    to anything else it answers with its latest."""
    return isinstance(version, str) and version in VERSIONS


def is_array(body: bytes) -> bool:
    return body.lstrip(SPACE)[:1] == b"["


def split(body: bytes) -> list[bytes | types.JSONRPCError]:
    """Returns, for each entry in order, the message in JSON, or the error that answers it. `body` is within the bounds of a
    message. Raises `NoBatch`, in which case no entry may be served."""
    try:
        entries = from_json(body)
    except ValueError:
        raise NoBatch(NO_MESSAGE) from None
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_MESSAGES:
        raise NoBatch(WRONG_NUMBER)
    ids: set[types.RequestId] = set()
    return [_message(entry, ids) for entry in entries]


def refused(sentence: str, number: Any = None, code: int = types.INVALID_REQUEST) -> types.JSONRPCError:
    """Makes the answer to a message that is not served. `number` is the id of it, as far as it has one."""
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=sentence))


def id_of(body: bytes) -> Any:
    """Returns the id of the message, whatever else is wrong with it; None where it has none that can be read."""
    try:
        message = from_json(body)
    except ValueError:
        return None
    return message.get("id") if isinstance(message, dict) else None


def _message(entry: Any, ids: set[types.RequestId]) -> bytes | types.JSONRPCError:
    """`ids` are those of the requests before it."""
    number = entry.get("id") if isinstance(entry, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(entry, by_name=False)
    except ValidationError:
        return refused(NO_MESSAGE, number)
    if isinstance(message, types.JSONRPCRequest):
        if message.method == "initialize":
            return refused(NO_INITIALIZE, number)
        if message.id in ids:
            return refused(TWICE)  # without the id: nobody shall take it for the answer to the other
        ids.add(message.id)
    return to_json(entry)
