"""An agent of the door's interface that answers with what it was told: who asked, in which session, and what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.ports import free_port

SECRET = "known-to-door-and-agent"
WORDS = ("Berserk ", "is ", "in stock.")


@dataclass
class SaidAgent:
    """`asked` has each request: where, its headers and its body. `status` is what the door is answered; `pause` is between
    two words of a stream. The customer `mute` hears nothing on sockets."""

    callback: str
    url: str = ""
    status: int = 202
    pause: float = 0.0
    mute: str = ""
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    _answers: set[asyncio.Task[None]] = field(default_factory=set)
    callbacks: list[int] = field(default_factory=list)

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/healthz", self.health),
                Route("/turns", self.turns, methods=["POST"]),
                Route("/door", self.door, methods=["POST"]),
            ]
        )

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def turns(self, request: Request) -> Response:
        self.asked.append(("/turns", dict(request.headers), await request.body()))

        async def events() -> AsyncIterator[str]:
            for word in WORDS:
                yield f"event: words\ndata: {json.dumps({'text': word})}\n\n"
                await asyncio.sleep(self.pause)
            yield 'event: done\ndata: {"turn": "t-1", "ms": 5}\n\n'

        return StreamingResponse(events(), media_type="text/event-stream")

    async def door(self, request: Request) -> Response:
        body = await request.body()
        self.asked.append(("/door", dict(request.headers), body))
        if self.status == 202 and request.headers["x-door-user"] != self.mute:
            task = asyncio.create_task(self._answer(request.headers["x-door-connection"]))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        return Response(status_code=self.status)

    async def _answer(self, connection: str) -> None:
        said: list[dict[str, Any]] = [{"event": "words", "text": word} for word in WORDS]
        for message in [*said, {"event": "done", "turn": "t-1", "ms": 5}]:
            with suppress(httpx.HTTPError):  # the gateway has gone, and its test with it
                self.callbacks.append(await self.send(connection, message))

    async def send(self, connection: str, message: dict[str, Any], secret: str = SECRET) -> int:
        async with httpx.AsyncClient(base_url=self.callback, trust_env=False, verify=False) as client:
            path = f"/@connections/{quote(connection, safe='')}"
            return (await client.post(path, json=message, headers={"X-Door-Secret": secret})).status_code


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


@asynccontextmanager
async def serving(callback: str) -> AsyncIterator[SaidAgent]:
    port = free_port()
    agent = SaidAgent(callback, f"http://127.0.0.1:{port}")
    server = _Server(uvicorn.Config(agent.application(), port=port, log_level="warning", lifespan="off"))
    task = asyncio.create_task(server.serve())
    try:
        yield agent
    finally:
        server.should_exit = True
        await task
