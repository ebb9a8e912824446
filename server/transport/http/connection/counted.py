"""Requests that the edge refuses, counted by status."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

FIRST_REFUSAL = 400


class CountedRefusals:
    """Stands in front of all others, so that it sees whatever any of them answers."""

    def __init__(self, app: ASGIApp, refused: Callable[[str], None]) -> None:
        self._app = app
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= FIRST_REFUSAL:
                self._refused(f"http_{message['status']}")
            await send(message)

        await self._app(scope, receive, sending)
