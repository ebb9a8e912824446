"""When an answer has left. A call's event is told before its answer is written; what a client waits for ends here.

The handler says what is to be told, and the transport that writes the answer tells it: a stream writes in the handler's own
task, so a context variable leads there, and the response to a POST is found by the request's scope.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from starlette.requests import Request
from starlette.types import Message, Scope, Send

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
