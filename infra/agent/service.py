"""The agent as a service beside the server: `POST /chat`, `GET /healthz`, and an end on SIGTERM that loses no answer."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from strands.models import Model

from infra.agent.answering import Answering
from infra.agent.link import StoreLink

logger = logging.getLogger(__name__)

NAME = re.compile(r"[A-Za-z0-9._:-]{1,100}")
MOST_CHARACTERS = 2000
MOST_BYTES = 16_384
MOST_TURNS = 100
"""Open at once; whoever comes then is told to come again, rather than to wait behind all of them."""
IDLE_SECONDS = 75
"""Longer than a load balancer (60) keeps a connection that nobody uses."""
CLOSE_SECONDS = 1


class Service(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise SIGTERM again after a graceful stop and exit with 143."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(frozen=True, slots=True)
class Question:
    """What was posted. The user is believed as it is stated: an agent for real takes it from who has signed in."""

    conversation: str
    message: str
    user: str | None

    @classmethod
    def parse(cls, body: bytes) -> Question:
        """Raises `HTTPException` with what is wrong."""
        try:
            posted: Any = json.loads(body)
        except ValueError:
            raise HTTPException(400, "the body is no JSON") from None
        if not isinstance(posted, dict):
            raise HTTPException(400, "the body is no object")
        conversation, message, user = (posted.get(each) for each in ("conversation", "message", "user"))
        if not (isinstance(conversation, str) and NAME.fullmatch(conversation)):
            raise HTTPException(400, "conversation has to be 1 to 100 of A-Z a-z 0-9 . _ : -")
        if not (isinstance(message, str) and 0 < len(message.strip()) <= MOST_CHARACTERS):
            raise HTTPException(400, f"message has to be a text of 1 to {MOST_CHARACTERS} characters")
        if not (user is None or (isinstance(user, str) and NAME.fullmatch(user))):
            raise HTTPException(400, "user has to be 1 to 100 of A-Z a-z 0-9 . _ : -, or not there")
        return cls(conversation, message, user)


def application(answering: Answering, link: StoreLink) -> Starlette:
    async def chat(request: Request) -> Response:
        question = Question.parse(await _body(request))
        if answering.open_turns >= MOST_TURNS:
            raise HTTPException(503, "too many questions at once; please ask again", {"Retry-After": "1"})
        answer = await answering.answer(question.conversation, question.message, question.user)
        return JSONResponse(answer.as_json())

    async def healthz(request: Request) -> Response:
        """Says 200 without the store too: a new agent would not have it either."""
        store = "away" if link.connection is None else "connected"
        return JSONResponse({"status": "ok", "store": store, "open_turns": answering.open_turns})

    return Starlette(
        routes=[Route("/chat", chat, methods=["POST"]), Route("/healthz", healthz)],
        exception_handlers={HTTPException: _refused},
    )


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"a question has {MOST_BYTES} bytes at most")
    return body


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def serve(url: str, model: Model, host: str, port: int, patience_ms: int) -> None:
    """Until SIGTERM or SIGINT. Questions that are open then are answered; nobody is let in any more."""
    link = StoreLink(url)
    answering = Answering(link, model, patience_ms)
    config = uvicorn.Config(
        application(answering, link),
        host=host,
        port=port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=-(-patience_ms // 1000) + CLOSE_SECONDS,
    )
    service = Service(config)
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, setattr, service, "should_exit", True)
    link.open()
    logger.info("listening on http://%s:%d", host, port)
    try:
        await service.serve()
    finally:
        link.close()
    logger.info("stopped")
