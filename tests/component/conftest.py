"""What component tests share: the run's own Valkey, a shelf of titles, and backends whose mood a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.support.store import Backends, Shelf, shelf
from tests.support.valkey import redis, valkey
from tests.support.virtual_time import VirtualTimeLoop

__all__ = ["redis", "shelf", "valkey"]


@pytest.fixture
def moody(shelf: Shelf) -> Backends:
    return shelf.in_moods()


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests that are marked `virtual_time` wait for nothing but work."""
    return {"loop": VirtualTimeLoop if item.get_closest_marker("virtual_time") else asyncio.new_event_loop}
