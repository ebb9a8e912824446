"""What component tests share: the run's own Valkey, a shelf of titles, and backends whose mood a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.support.pipeline import Kit, Opener, open_kit
from tests.support.store import Backends, Shelf, shelf
from tests.support.valkey import redis, valkey
from tests.support.virtual_time import VirtualTimeLoop

__all__ = ["redis", "shelf", "valkey"]


@pytest.fixture
def moody(shelf: Shelf) -> Backends:
    return shelf.in_moods()


@pytest.fixture
async def opener(redis: MultiplexedRedis, moody: Backends) -> AsyncIterator[Opener]:
    """Opens kits, all over the same Valkey and the same backends: each is a process of its own."""
    async with AsyncExitStack() as stack:

        async def enter(**how: Any) -> Kit:
            kit: AbstractAsyncContextManager[Kit] = open_kit(redis, moody, **how)
            return await stack.enter_async_context(kit)

        yield enter


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    own: Kit = await opener()
    return own


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests that are marked `virtual_time` wait for nothing but work."""
    return {"loop": VirtualTimeLoop if item.get_closest_marker("virtual_time") else asyncio.new_event_loop}
