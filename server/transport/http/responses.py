"""Plain-text responses, callbacks for sent answers, and the wait for running work at shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope, Send

RETRY_AFTER_SECONDS = 1


def plain(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def busy(sentence: str) -> PlainTextResponse:
    return plain(503, sentence, {"Retry-After": str(RETRY_AFTER_SECONDS)})


_SCOPE = "manga.answer"
_on_sent: ContextVar[Callable[[], None] | None] = ContextVar("manga.answer", default=None)


def call_when_sent(request: Request | None, on_sent: Callable[[], None]) -> None:
    """Registers a callback that is called once the current request's answer has been written to the socket."""
    _on_sent.set(on_sent)
    if request is not None:
        request.scope[_SCOPE] = on_sent


def notify_sent() -> None:
    """Calls the callback that was registered in the current context, if any. For answers that are sent on a stream."""
    if (on_sent := _on_sent.get()) is not None:
        _on_sent.set(None)
        on_sent()


def notifying_send(scope: Scope, send: Send) -> Send:
    """Returns a `send` that calls the callback registered in `scope` after the response's last message."""

    async def sending(message: Message) -> None:
        await send(message)
        is_last = message["type"] == "http.response.body" and not message.get("more_body")
        if is_last and (on_sent := scope.pop(_SCOPE, None)) is not None:
            on_sent()

    return sending


async def wait_until_idle(is_busy: Callable[[], bool]) -> None:
    """Waits until `is_busy()` is False, for at most 0.3 s. The caller must already refuse new work."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.3):
            while is_busy():  # noqa: ASYNC110 - polls many streams, each with a count of its own
                await asyncio.sleep(0.01)
