"""A posted message as far as the edge has to understand it, before the SDK does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from pydantic_core import from_json

from server.transport.extensions import NO_EXTENSIONS, Extensions

ANSWERED = ("elicitation", "roots", "sampling")
LONGEST_NAME = 128
"""Characters of what a client calls itself, its version, and the protocol's version that it asks for."""


@dataclass(frozen=True, slots=True)
class Posted:
    """`number` is the request's id; None for what is no request."""

    method: str
    number: types.RequestId | None
    params: dict[str, Any]
    size: int

    @classmethod
    def of_body(cls, body: bytes) -> Posted | None:
        """Reads it; None for what is no message: the SDK says why."""
        try:
            message = read_message(body)
        except (ValueError, RecursionError):
            return None
        method = message.get("method") if isinstance(message, dict) else None
        if not isinstance(method, str):
            return None
        number, params = message.get("id"), message.get("params")
        asked = number if isinstance(number, str | int) else None
        return cls(method, asked, params if isinstance(params, dict) else {}, len(body))

    @classmethod
    def of_message(cls, message: types.JSONRPCMessage, size: int) -> Posted | None:
        """Reads it; None for an answer."""
        if isinstance(message, types.JSONRPCRequest):
            return cls(message.method, message.id, message.params or {}, size)
        if isinstance(message, types.JSONRPCNotification):
            return cls(message.method, None, message.params or {}, size)
        return None


def trimmed_params(params: dict[str, Any], extensions: Extensions = NO_EXTENSIONS) -> dict[str, Any]:
    """Keeps of an initialize what is used of it, since the SDK keeps it for as long as the session or stream lasts: of what
    the client is capable of, whether it can be asked something, and what it says of `extensions`. What is malformed stays
    so."""
    kept = {name: _cut(params[name]) for name in ("protocolVersion",) if name in params}
    if "capabilities" in params:
        kept["capabilities"] = _used(params["capabilities"], extensions)
    if "clientInfo" in params:
        info = params["clientInfo"]
        kept["clientInfo"] = _named(info) if isinstance(info, dict) else None
    return kept


def trimmed_initialize(body: bytes, extensions: Extensions = NO_EXTENSIONS) -> bytes:
    """Does the same for a body that is known to be an initialize."""
    message = read_message(body)
    kept = {name: _cut(message[name]) for name in ("jsonrpc", "id", "method") if name in message}
    if isinstance(message.get("params"), dict):
        kept["params"] = trimmed_params(message["params"], extensions)
    return json.dumps(kept).encode()


def read_message(body: bytes) -> Any:
    """Reads as the more lenient of the SDK's two parsers: it takes half a surrogate and a byte order mark in the 2026
    era, and what the edge could not read would pass it unseen. Raises ValueError, RecursionError."""
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)


def _used(capabilities: Any, extensions: Extensions) -> dict[str, Any] | None:
    """Names what a client answers questions of, without how well, and the extensions that it shares with this server."""
    if not isinstance(capabilities, dict):
        return None
    asked: dict[str, Any] = {name: {} for name in ANSWERED if isinstance(capabilities.get(name), dict)}
    shared = extensions.understood(capabilities.get("extensions"))
    return asked | ({"extensions": shared} if shared else {})


def _named(info: dict[str, Any]) -> dict[str, Any]:
    return {name: _cut(info[name]) for name in ("name", "version") if name in info}


def _cut(value: Any) -> Any:
    """Keeps a text, at most so long, and a number; nothing of anything else."""
    if isinstance(value, str):
        return value[:LONGEST_NAME]
    return value if isinstance(value, int) else None
