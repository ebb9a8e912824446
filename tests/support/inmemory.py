"""The official client of each era, with no socket between it and a kit's server."""

from __future__ import annotations

from typing import Any

from mcp.client import Client

from tests.support.pipeline import Kit

ERAS = ("legacy", "auto")
"""With a handshake, and without."""
LEGACY_WORDS = "ignore::mcp.shared.exceptions.MCPDeprecationWarning"
"""A filter: what the 2026 era has dropped is tested all the same."""


def connected(kit: Kit, era: str, **more: Any) -> Client:
    return Client(kit.app.protocol.mcp, mode=era, cache=None, **more)
