"""Servers as processes, and every client that talks to them. A test runs once for each client it asks for."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.clients import TRANSPORTS, Client, Connections, Transport, params
from tests.support.serving import Serving, served, wait_for_meaning
from tests.support.strands import StrandsDriver
from tests.support.two_replicas import TwoReplicas, two_replicas

Serve = Callable[..., Serving]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is computed once (the titles' vectors) is computed once for all servers of the run."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serving]:
    """The demo catalogue as `make run` serves it, without rate limits."""
    with served(tmp_path_factory.mktemp("server"), cache, MANGA_EMBEDDER="local") as serving:
        wait_for_meaning(serving)
        yield serving


@pytest.fixture(scope="session")
def with_websocket(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serving]:
    settings = {"MANGA_EMBEDDER": "none", "MANGA_WEBSOCKET": "on"}
    with served(tmp_path_factory.mktemp("websocket"), cache, **settings) as serving:
        yield serving


@pytest.fixture(scope="session")
def limited(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serving]:
    """With the rate limits that are on by default: each test asks as customers and in sessions of its own."""
    settings = {"MANGA_EMBEDDER": "none", "MANGA_RATE_LIMIT": "on"}
    with served(tmp_path_factory.mktemp("limited"), cache, **settings) as serving:
        yield serving


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serve]:
    """Further servers, with settings of their own, until the module's tests are over. Words alone, for a quick start."""
    with ExitStack() as stack:

        def start(**settings: str) -> Serving:
            folder = tmp_path_factory.mktemp("special")
            return stack.enter_context(served(folder, cache, **{"MANGA_EMBEDDER": "none", **settings}))

        yield start


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[TwoReplicas]:
    """Nothing is off when a test begins and when it ends."""
    with two_replicas(tmp_path_factory.mktemp("two"), cache) as own:
        yield own


@pytest.fixture(scope="session")
def strands_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrandsDriver]:
    """One process for all of Strands' clients: it takes seconds to start."""
    driver = StrandsDriver(tmp_path_factory.mktemp("strands"))
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def connections(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, server: Serving, strands_driver: StrandsDriver
) -> Iterator[Connections]:
    settings = {"MANGA_EMBEDDER": "none", "MANGA_RATE_LIMIT": "off"}
    opened = Connections(tmp_path_factory.mktemp("clients"), cache, strands_driver, settings)
    yield opened
    opened.close()


@pytest.fixture
def fresh(tmp_path: Path, cache: Path, strands_driver: StrandsDriver) -> Iterator[Connections]:
    """For clients of one test: with headers or listeners of their own, closed at its end."""
    opened = Connections(tmp_path, cache, strands_driver)
    yield opened
    opened.close()


@pytest.fixture(params=params(TRANSPORTS))
def transport(request: pytest.FixtureRequest) -> Transport:
    return TRANSPORTS[request.param]


@pytest.fixture
def client(transport: Transport, connections: Connections, server: Serving) -> Client:
    """One of every kind, connected once for the whole run."""
    return connections.shared(transport.name, server.url)


@pytest.fixture
def session() -> str:
    """A session that no other test knows."""
    return f"session-{uuid.uuid4().hex}"


@pytest.fixture
def turn() -> str:
    return f"turn-{uuid.uuid4().hex}"
