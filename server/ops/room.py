"""The room as HTTP has it: its two paths, and how it is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from server.config.settings import Settings
from server.ops.document import POLICY, page
from server.ops.gate import EVENTS, PAGE, Gate
from server.ops.observation import Observation
from server.ops.process import Process
from server.ops.readers import Readers
from server.ops.streams import Streams
from server.ops.teller import Teller
from server.ops.visitors import Visitors
from server.transport.http.beside import Beside
from server.transport.http.middleware import Endpoint

if TYPE_CHECKING:
    from server.application import Application


class Room(Beside):
    """Raises `ValueError` where its page cannot be put together."""

    def __init__(self, settings: Settings, app: Application, worker: int | None = None) -> None:
        self._document, self._policy = page()
        self._visitors = Visitors(settings, app.identifier)
        self.readers, process = Readers(), Process(settings, app, worker)
        clock, lifecycle = app.dependencies.clock, app.lifecycle
        self.teller = Teller(self.readers, lambda: Observation(app, process), lambda: lifecycle.draining, clock)
        self._streams = Streams(self.readers, self.teller, self._visitors.still_may)

    def routes(self) -> list[BaseRoute]:
        return [Route(PAGE, self._page, methods=["GET"]), Route(EVENTS, Endpoint(self._events), methods=["GET"])]

    def around(self, asgi: ASGIApp) -> ASGIApp:
        return Gate(asgi)

    async def close_all(self) -> None:
        await self._streams.close_all()

    async def _page(self, request: Request) -> Response:
        refused = await self._visitors.refusal(request.scope, stream=False)
        policy = {POLICY.decode(): self._policy.decode()}
        return refused or Response(self._document, headers=policy, media_type="text/html")

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = await self._visitors.refusal(scope, stream=True)
        await (refused or self._streams)(scope, receive, send)
