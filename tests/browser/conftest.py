"""One browser and one server for all tests of a process; each test has a context of its own. All of them run in one event loop,
which is the browser's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.stack.require import require
from tests.support.browser import chromium
from tests.support.browser.card_results import settings
from tests.support.browser.host_backend import OfServer, backend_of
from tests.support.browser.origins import Origins, origins
from tests.support.serving import Serving, served

if TYPE_CHECKING:
    from playwright.async_api import Browser

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("asyncio") is not None:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    require("browser", chromium.problem())
    async with chromium.launched() as own:
        yield own


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The demo catalogue, searched by words alone, with every tool that has a card."""
    folder = tmp_path_factory.mktemp("server")
    with served(folder, tmp_path_factory.mktemp("cache"), **settings(folder)) as own:
        yield own


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def at() -> AsyncIterator[Origins]:
    """Where the host's page and its sandbox are."""
    with origins(asyncio.get_running_loop()) as own:
        yield own


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def backend(at: Origins, server: Serving) -> AsyncIterator[OfServer]:
    """The host's, connected to the server; its page is opened with the name `shop`."""
    async with backend_of(server.url) as own:
        at.backends["shop"] = own
        yield own
