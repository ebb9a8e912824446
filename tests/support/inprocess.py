"""The whole application in this process, over real sockets, with backends of the test's own choosing behind the ports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from server import wiring
from server.application import Application
from server.backends.opening import Ports
from server.backends.opening import open_ports as open_all_ports
from server.commands.serve import _uvicorn, listen
from server.config.settings import Settings
from server.ops import open_ops
from server.transport.http.app import HttpApp, Probes, http_app
from server.transport.websocket.websockets import open_websockets
from session.resilience.deadline import Deadline
from tools.store.models import CatalogPage, CatalogQuery, CatalogTerms, Conditions, Health, NameMatches, ReaderQuery, Title
from tools.store.ports import CatalogPort


@dataclass
class HeldCatalog:
    """A catalogue whose searches wait until they are let go, and that counts what becomes of them."""

    inner: CatalogPort
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    begun: int = 0
    finished: int = 0
    stopped: list[float] = field(default_factory=list)
    """Of each search that was cancelled: the seconds it still had."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        self.under_way += 1
        self.begun += 1
        try:
            await self.gate.wait()
            self.finished += 1
            return await self.inner.search(query, deadline)
        except asyncio.CancelledError:
            self.stopped.append(deadline.remaining())
            raise
        finally:
            self.under_way -= 1

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self.inner.get(title_ids, deadline)

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self.inner.popular(conditions, limit, deadline)

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self.inner.for_reader(query, deadline)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self.inner.terms(deadline)

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        return await self.inner.match_names(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self.inner.health(deadline)


@dataclass
class InProcess:
    app: Application
    http: HttpApp
    ports: Ports
    port: int


@asynccontextmanager
async def in_process(
    with_ports: Callable[[Ports], Ports] = lambda ports: ports, settings: Settings | None = None, *, limited: bool = False
) -> AsyncIterator[InProcess]:
    """As `server.wiring.open_app` wires it, with whatever `with_ports` puts in front of the ports that it opens."""
    settings = replace(settings or Settings(), port=0, embedder="none", rate_limit=limited)
    opened: list[Ports] = []

    async def open_ports(asked: Settings, stack: AsyncExitStack) -> Ports:
        opened.append(with_ports(await open_all_ports(asked, stack)))
        return opened[0]

    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        app = await stack.enter_async_context(wiring.open_app(settings, ports=open_ports))
        port = listener.getsockname()[1]
        probes, upgrades = Probes(app.lifecycle, app.dependencies, app.metrics), open_websockets(settings, app)
        http = http_app(settings, app, port, probes, [open_ops(settings, app), upgrades])
        await stack.enter_async_context(http.endpoint.manager.run())
        server = _uvicorn(settings, http, upgrades)
        serving = asyncio.create_task(server.serve([listener]), name="uvicorn")
        try:
            yield InProcess(app, http, opened[0], port)
        finally:
            await http.close_all()
            server.should_exit = True
            await serving
