"""Plain answers of the edge: a status and one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope, Send

RETRY_AFTER_SECONDS = 1


def plain(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def busy(sentence: str) -> PlainTextResponse:
    return plain(503, sentence, {"Retry-After": str(RETRY_AFTER_SECONDS)})


Told = Callable[[], None]
_SCOPE = "manga.answer"
_answer: ContextVar[Told | None] = ContextVar("manga.answer", default=None)


def when_sent(request: Request | None, told: Told) -> None:
    """Notes, for a handler that has made its answer, whom to tell when it is sent."""
    _answer.set(told)
    if request is not None:
        request.scope[_SCOPE] = told


def sent() -> None:
    """Tells, for a stream, that the answer of this task is with the socket."""
    if (told := _answer.get()) is not None:
        _answer.set(None)
        told()


def told_when_sent(scope: Scope, send: Send) -> Send:
    """Returns `send` for a request whose response is the answer."""

    async def sending(message: Message) -> None:
        await send(message)
        if message["type"] == "http.response.body" and not message.get("more_body") and (told := scope.pop(_SCOPE, None)):
            told()

    return sending
