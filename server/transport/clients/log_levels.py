"""What log messages each client of the 2025 era wants. A client of the 2026 era says so with each request."""

from __future__ import annotations

import weakref
from typing import get_args

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.session import ServerSession

from server.transport.request import Context

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""Least severe first."""


class LogLevels:
    """None for who has not said so: nobody reads what nobody asked for."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Connection, frozenset[str]] = weakref.WeakKeyDictionary()

    async def set(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, object]:
        """Answers `logging/setLevel`: this level and those above."""
        # A session lives as long as one request; the connection behind it has no public name in the SDK.
        self._of[ctx.session._connection] = frozenset(LEVELS[LEVELS.index(params.level) :])
        return {}

    def of(self, session: ServerSession) -> frozenset[str]:
        return self._of.get(session._connection, frozenset())
