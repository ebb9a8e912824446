"""The real servers as session fixtures. A conftest that wants them imports them:

    from tests.stack.fixtures import dynamodb_endpoint, opensearch_url  # noqa: F401

Several conftests may do so: in one test run there is one server of a kind, started when first asked for. Tests share it, so
each makes indices, tables and keys of its own. MANGA_STACK_OPENSEARCH and MANGA_STACK_DYNAMODB name servers that already
run, as `python -m tests.stack.opensearch` leaves one running beside many short test runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.stack import dynamodb, opensearch, redis_servers, zipkin
from tests.stack.require import require
from tests.stack.zipkin import Viewer


class Shared:
    """A server that is started for the first who asks and stopped after the last."""

    def __init__(
        self, name: str, missing: Callable[[], str | None], opener: Callable[[], AbstractContextManager[str]]
    ) -> None:
        self._name = name
        self._missing = missing
        self._opener = opener
        self._users = 0
        self._open: AbstractContextManager[str] | None = None
        self._url = ""

    @contextmanager
    def url(self) -> Iterator[str]:
        if self._open is None:
            require(self._name, self._missing())
            opened = self._opener()
            self._url = opened.__enter__()
            self._open = opened
        self._users += 1
        try:
            yield self._url
        finally:
            self._users -= 1
            if not self._users:
                opened, self._open = self._open, None
                opened.__exit__(None, None, None)


_opensearch = Shared("OpenSearch", opensearch.missing, opensearch.opensearch_node)
_dynamodb = Shared("DynamoDB", dynamodb.missing, dynamodb.dynamodb_local)
_redis = Shared("Redis", redis_servers.missing, redis_servers.redis_server)
_redis_tls = Shared("Redis with TLS", redis_servers.missing, lambda: redis_servers.redis_server(tls=True))
_redis_cluster = Shared("Redis cluster", redis_servers.missing, redis_servers.redis_cluster)


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """A node with k-NN and Japanese analysis, as `http://127.0.0.1:PORT`."""
    yield from _one("MANGA_STACK_OPENSEARCH", _opensearch)


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """DynamoDB Local, as `http://127.0.0.1:PORT`."""
    yield from _one("MANGA_STACK_DYNAMODB", _dynamodb)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Redis, as `redis://127.0.0.1:PORT/0`."""
    with _redis.url() as url:
        yield url


@pytest.fixture(scope="session")
def redis_tls_url() -> Iterator[str]:
    """Redis with a certificate of a private authority, as `rediss://127.0.0.1:PORT/0?ssl_ca_certs=FILE`."""
    with _redis_tls.url() as url:
        yield url


@pytest.fixture(scope="session")
def redis_cluster_url() -> Iterator[str]:
    """The first of three masters, as `redis://127.0.0.1:PORT`."""
    with _redis_cluster.url() as url:
        yield url


@pytest.fixture(scope="session")
def trace_viewer() -> Iterator[Viewer]:
    """Zipkin, with a door for OTLP."""
    require("Zipkin", zipkin.missing())
    with zipkin.viewer() as running:
        yield running


def _one(setting: str, shared: Shared) -> Iterator[str]:
    running = os.environ.get(setting)
    if running:
        yield running
        return
    with shared.url() as url:
        yield url
