"""MCP messages: size limits, parsing, client extensions, and batches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from tools.primitives.resource import Extension, Method

Json = dict[str, Any]
MOST_VALUES = 1024
"""Maximum values in a message, twice those in a call's arguments (`tools.schema.text`). The SDK parses them in 3 ms."""
DEEPEST = 40
"""Maximum nesting of a message: arguments may be 32 deep, and start three deep in the message."""
TOO_MANY = f"A message holds at most {MOST_VALUES} values."
TOO_DEEP = f"A message is nested at most {DEEPEST} deep."
NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")


def reason_too_large(data: bytes | bytearray) -> str | None:
    """Returns the reason for refusing a message before it is parsed, or None. Takes linear time. Counts at least as many
    values and levels as a parser would find, even in malformed JSON."""
    if b"\0" in data:
        return "A message is JSON in UTF-8."  # JSON in UTF-8 has no NUL; UTF-16 would be miscounted below
    openings = data.count(b"[") + data.count(b"{")
    if openings <= DEEPEST and openings + data.count(b",") < MOST_VALUES:
        return None  # even if none of them are within strings
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * MOST_VALUES:  # a name and a string for each value, two quotes each
        return TOO_MANY
    # Every second piece is a string; a digit in its place keeps its container from looking empty.
    bare = b"0".join(unescaped.split(b'"')[::2]).translate(None, b" \t\r\n")
    brackets = bare.translate(None, NO_BRACKETS)
    if len(brackets) > 2 * MOST_VALUES:
        return TOO_MANY
    empty = bare.count(b"[]") + bare.count(b"{}")
    # A value begins after each comma and in each bracket with contents, and the message is one itself.
    if bare.count(b",") + brackets.count(b"[") + brackets.count(b"{") - empty >= MOST_VALUES:
        return TOO_MANY
    level = deepest = 0
    for each in brackets:
        level += 1 if each in b"[{" else -1
        deepest = max(deepest, level)
    return TOO_DEEP if deepest > DEEPEST else None


def read_message(body: bytes) -> Any:
    """Parses JSON like the more lenient of the SDK's two parsers, which accepts lone surrogates and a byte order mark. So no
    message that the SDK accepts escapes the checks. Raises `ValueError` or `RecursionError`."""
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)


@dataclass(frozen=True, slots=True)
class Posted:
    """A posted request or notification. `number` is its id, None if it has no valid id. `params` is {} if missing or
    invalid. `message` is the parsed JSON. `is_strict` is False if only `read_message`'s lenient parser reads it."""

    method: str
    number: types.RequestId | None
    params: Json
    message: Json
    is_strict: bool

    @classmethod
    def from_body(cls, body: bytes) -> Posted | None:
        """Parses a request or notification. Returns None for any other body."""
        is_strict = True
        try:
            message = from_json(body)
        except ValueError:
            is_strict = False
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                return None
        method = message.get("method") if isinstance(message, dict) else None
        if not isinstance(method, str):
            return None
        number, params = message.get("id"), message.get("params")
        request_id = number if isinstance(number, str | int) and not isinstance(number, bool) else None
        return cls(method, request_id, params if isinstance(params, dict) else {}, message, is_strict)

    @property
    def has_bad_id(self) -> bool:
        """True for an id that is neither a string nor a whole number, which the SDK would take for a notification."""
        return self.number is None and "id" in self.message


class Extensions:
    """The server's MCP extensions. A client declares its own in `initialize`, from 2026-07-28 on with each request."""

    def __init__(self, spoken: Iterable[Extension] = ()) -> None:
        self._spoken = {each.name: each for each in spoken}

    def read_settings(self, declared: Any) -> dict[str, Json]:
        """Returns the valid settings in a client's declaration, by extension. `declared` may be any JSON."""
        if not isinstance(declared, dict):
            return {}
        settings = {name: each.understood(declared[name]) for name, each in self._spoken.items() if name in declared}
        return {name: kept for name, kept in settings.items() if kept is not None}

    def shared_with(self, session: ServerSession) -> list[Extension]:
        """Returns the extensions that the session's client has declared with valid settings."""
        capabilities = session.client_capabilities
        return [self._spoken[name] for name in self.read_settings(capabilities.extensions if capabilities else None)]

    @property
    def own_settings(self) -> dict[str, Json]:
        return {name: each.declared for name, each in self._spoken.items() if each.declared is not None}

    @property
    def methods(self) -> list[Method]:
        return [method for each in self._spoken.values() for method in each.methods]


NO_EXTENSIONS = Extensions()
LONGEST_NAME = 128
"""Maximum characters kept of a client's name, its version, and the protocol version that it requests."""


def trim_params(params: Json, extensions: Extensions = NO_EXTENSIONS) -> Json:
    """Reduces the params of `initialize` to the members that this server uses, since the SDK keeps them as long as the
    session. Malformed members stay malformed."""
    trimmed = _pick(params, "protocolVersion")
    if "capabilities" in params:
        trimmed["capabilities"] = _trim_capabilities(params["capabilities"], extensions)
    if "clientInfo" in params:
        info = params["clientInfo"]
        trimmed["clientInfo"] = _pick(info, "name", "version") if isinstance(info, dict) else None
    return trimmed


def trim_initialize(message: Json, extensions: Extensions = NO_EXTENSIONS) -> bytes:
    trimmed = _pick(message, "jsonrpc", "id", "method")
    if isinstance(message.get("params"), dict):
        trimmed["params"] = trim_params(message["params"], extensions)
    return json.dumps(trimmed).encode()


def _trim_capabilities(capabilities: Any, extensions: Extensions) -> Json | None:
    if not isinstance(capabilities, dict):
        return None
    askable = ("elicitation", "roots", "sampling")
    trimmed: Json = {name: {} for name in askable if isinstance(capabilities.get(name), dict)}
    shared = extensions.read_settings(capabilities.get("extensions"))
    return trimmed | ({"extensions": shared} if shared else {})


def _pick(source: Json, *names: str) -> Json:
    return {name: _shorten(source[name]) for name in names if name in source}


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_NAME]
    return value if isinstance(value, int) else None


MOST_MESSAGES = 20
VERSIONS = frozenset(each for each in HANDSHAKE_PROTOCOL_VERSIONS if each <= "2025-03-26")
"""Protocol versions with batches; 2025-06-18 removed them."""
NO_MESSAGE = "This is not a JSON-RPC message."
BAD_ID = "The id of a request is a string or a whole number."
DUPLICATE_ID = "There is a request with this id under way in this session."


class InvalidBatch(Exception):
    """Raised for a batch that is refused as a whole, with the reason as its text."""


def has_batches(version: object) -> bool:
    """Returns True if a session whose `initialize` requests `version` uses a version with batches. The server agrees to
    every version that it knows, and otherwise offers its latest, which has no batches."""
    return isinstance(version, str) and version in VERSIONS


def is_array(body: bytes) -> bool:
    return body.lstrip(b" \t\r\n")[:1] == b"["


def split_batch(body: bytes) -> list[bytes | types.JSONRPCError]:
    """Splits a batch, so that each message is served, answered and limited on its own (MCP 2025-03-26, basic). Returns, for
    each entry in order, the message as JSON or the error that answers it. Raises `InvalidBatch`."""
    try:
        entries = from_json(body)
    except ValueError:
        raise InvalidBatch(NO_MESSAGE) from None
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_MESSAGES:
        raise InvalidBatch(f"A batch has 1 to {MOST_MESSAGES} messages.")
    ids: set[types.RequestId] = set()
    return [_check_entry(entry, ids) for entry in entries]


def error_for(sentence: str, number: Any = None, code: int = types.INVALID_REQUEST) -> types.JSONRPCError:
    """Returns the error that answers a refused message. `number` is the message's id, None if it has none."""
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=sentence))


def read_id(body: bytes) -> Any:
    """Returns the id of a message that may be invalid; None if the message has no readable id."""
    try:
        message = from_json(body)
    except ValueError:
        return None
    return message.get("id") if isinstance(message, dict) else None


def _check_entry(entry: Any, ids: set[types.RequestId]) -> bytes | types.JSONRPCError:
    """Returns a batch's entry as JSON, or the error that answers it. Adds its id to `ids`, those of requests before it."""
    number = entry.get("id") if isinstance(entry, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(entry, by_name=False)
    except ValidationError:
        return error_for(NO_MESSAGE, number)
    if isinstance(message, types.JSONRPCNotification) and "id" in entry:
        return error_for(BAD_ID)
    if isinstance(message, types.JSONRPCRequest):
        if message.method == "initialize":
            return error_for("initialize cannot be part of a batch.", number)
        if message.id in ids:
            return error_for(DUPLICATE_ID)  # without the id, which would make it the answer to the other request
        ids.add(message.id)
    return to_json(entry)
