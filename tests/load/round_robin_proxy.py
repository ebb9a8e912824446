"""The proxy of `tests/support/round_robin.py` as a process of its own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

from tests.load.worker import Worker
from tests.support.round_robin import RoundRobin, round_robin


class Proxies(Worker):
    """Commands: open (urls), which gives a port, and served."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._open: list[RoundRobin] = []

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[Self]:
        async with AsyncExitStack() as stack:
            yield cls(stack)

    async def open(self, urls: Sequence[str]) -> dict[str, Any]:
        port, own = await self._stack.enter_async_context(round_robin(urls))
        self._open.append(own)
        return {"port": port}

    async def served(self) -> dict[str, Any]:
        """Requests that each server of each proxy was given."""
        return {"served": [own.served for own in self._open]}


if __name__ == "__main__":
    sys.exit(Proxies.main())
