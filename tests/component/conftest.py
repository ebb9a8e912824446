"""What component tests share: the run's own Valkey, a shelf of titles, and backends that a test lets fail or hang."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.support.pipeline import Kit, Opener, opening_kits
from tests.support.store import Backends, Shelf, shelf
from tests.support.tool_packages import Site
from tests.support.valkey import redis, valkey

__all__ = ["redis", "shelf", "valkey"]


@pytest.fixture
def moody(shelf: Shelf) -> Backends:
    return shelf.in_moods()


@pytest.fixture
async def opener(redis: MultiplexedRedis, moody: Backends) -> AsyncIterator[Opener]:
    """Opens kits, all over the same Valkey and the same backends."""
    async with opening_kits(redis, lambda: moody) as opener:
        yield opener


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    own: Kit = await opener()
    return own


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder on the path, for packages; what was imported from there is forgotten at the end."""
    own = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(own.folder)
    yield own
    own.forget_modules()
