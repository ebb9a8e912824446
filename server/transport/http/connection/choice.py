"""Which way the bytes of connections are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from server.transport.http.connection.http_connection import HttpConnection


def connection_class() -> Callable[..., asyncio.Protocol]:
    """Returns the quicker one where its library is installed, which has no wheel for every platform."""
    try:
        from server.transport.http.connection.plain_requests import PlainRequests
    except ImportError:
        return HttpConnection
    return PlainRequests
