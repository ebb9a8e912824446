"""The messages with which a client of MCP begins."""

from __future__ import annotations

from typing import Any

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def initialize(client: str, version: str, number: int = 0) -> dict[str, Any]:
    """The request of a client of that name, in that version of the protocol."""
    info = {"name": client, "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}
