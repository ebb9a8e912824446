"""A batch, taken apart: each message of it goes the way of one that came by itself, with its own answer and its own share of
every limit. An answer leaves when it is there: "responses MAY be batched" (MCP 2025-03-26, basic).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from tools.primitives.resource import Extension

MOST_VALUES = 1024
"""Twice what a tool's arguments may hold (`tools.schema.validation`), the other half for `_meta`. They cost the SDK 3 ms."""
DEEPEST = 40
"""Arguments may be 32 deep, and lie three deep in the message."""
TOO_MANY = f"A message holds at most {MOST_VALUES} values."
TOO_DEEP = f"A message is nested at most {DEEPEST} deep."
NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")


def excess(data: bytes | bytearray) -> str | None:
    """Says in a sentence what there is too much of; None for a message that may be read. Linear, in the order of a copy of
    it.

    Never fewer values or levels than a parser meets before it gives up: damaged JSON is judged as far as it can be read."""
    if b"\0" in data:
        return "A message is JSON in UTF-8."  # no JSON has such a byte; in UTF-16 nothing below would count right
    openings = data.count(b"[") + data.count(b"{")
    if openings <= DEEPEST and openings + data.count(b",") < MOST_VALUES:
        return None  # even if all of them stand outside of texts
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * MOST_VALUES:  # a name and a text for each value, two quotes each
        return TOO_MANY
    # Texts are every second piece; a digit in their place keeps what holds one from looking empty.
    bare = b"0".join(unescaped.split(b'"')[::2]).translate(None, b" \t\r\n")
    brackets = bare.translate(None, NO_BRACKETS)
    if len(brackets) > 2 * MOST_VALUES:
        return TOO_MANY
    empty = bare.count(b"[]") + bare.count(b"{}")
    # Each comma begins a value, so does each bracket that something follows, and the message is one itself.
    if bare.count(b",") + brackets.count(b"[") + brackets.count(b"{") - empty >= MOST_VALUES:
        return TOO_MANY
    return TOO_DEEP if _deepest(brackets) > DEEPEST else None


def _deepest(brackets: bytes) -> int:
    level = deepest = 0
    for each in brackets:
        level += 1 if each in b"[{" else -1
        deepest = max(deepest, level)
    return deepest


Json = dict[str, Any]


class Extensions:
    """Those that this server speaks. A client of the handshake era declares its own once, one of 2026 with each request."""

    def __init__(self, spoken: Iterable[Extension] = ()) -> None:
        self._spoken = {each.name: each for each in spoken}

    def understood(self, declared: Any) -> dict[str, Json]:
        """Keeps of what a client declares, in whatever form it came, what is used of it."""
        if not isinstance(declared, dict):
            return {}
        settings = {name: each.understood(declared[name]) for name, each in self._spoken.items() if name in declared}
        return {name: kept for name, kept in settings.items() if kept is not None}

    def shared_with(self, session: ServerSession) -> list[Extension]:
        """Lists those of which a client has declared something that can be used."""
        capabilities = session.client_capabilities
        return [self._spoken[name] for name in self.understood(capabilities.extensions if capabilities else None)]


NO_EXTENSIONS = Extensions()


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
