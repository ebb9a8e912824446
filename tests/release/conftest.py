"""The last release beside this one, on one Redis, one DynamoDB Local and one OpenSearch."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.release.archive import unpack
from tests.release.beside import THIS, Beside, Release, Stack
from tests.stack import redis_servers
from tests.stack.fixtures import dynamodb_endpoint, opensearch_url  # noqa: F401
from tests.stack.require import require
from tests.stack.seeding import Destination
from tests.support.flags import serving_flags
from tests.support.serving import served


@pytest.fixture(scope="session")
def last(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The last release's code, unpacked."""
    return Release("last", unpack(tmp_path_factory.mktemp("last")))


@pytest.fixture(scope="module")
def stack(opensearch_url: str, dynamodb_endpoint: str) -> Iterator[Stack]:  # noqa: F811
    """An index, tables and a Redis of the module's own, and a flags document. Whoever uses it fills it."""
    require("Redis", redis_servers.missing())
    place = Destination(opensearch_url, dynamodb_endpoint, f"beside{uuid.uuid4().hex[:8]}")
    with redis_servers.redis_server() as redis, serving_flags() as flags:
        yield Stack(place, redis, flags)
    place.remove()


@pytest.fixture(scope="module")
def beside(stack: Stack, last: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """A server of each, on what the last release has seeded."""
    stack.seed(last, last)
    folder = tmp_path_factory.mktemp("beside")
    with ExitStack() as running:
        urls = {
            each.name: running.enter_context(served(folder / each.name, folder, tree=each.tree, **stack.settings(last))).port
            for each in (last, THIS)
        }
        both = Beside(stack, urls)
        for name in urls:  # a first call may be late, and one that is repeated is twice in its session's history
            asyncio.run(both.call(name, "search_manga_catalog", {"query": "pirates"}))
        yield both
