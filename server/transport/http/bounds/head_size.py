"""How large the head of a request may be. h11 has a limit of its own, which what comes in one piece passes."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from server.transport.http.responses import plain

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 * 1024
"""A token, baggage and what proxies add fit several times over."""
MOST_TARGET_BYTES = 8 * 1024


class BoundedHead:
    """414 and 431 (RFC 6585, section 5), before anything looks at the headers: each look goes through all of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif len(scope["raw_path"]) + len(scope["query_string"]) > MOST_TARGET_BYTES:
            await plain(414, f"An address has at most {MOST_TARGET_BYTES} bytes.")(scope, receive, send)
        elif _too_large(scope["headers"]):
            most = f"{MOST_HEADERS} headers with {MOST_HEADER_BYTES} bytes"
            await plain(431, f"A request has at most {most}.")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _too_large(headers: list[tuple[bytes, bytes]]) -> bool:
    return len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > MOST_HEADER_BYTES
