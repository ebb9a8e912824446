"""What a search costs that nothing can answer from memory: `python -m tests.load.searches [CATALOGUE]`.

The embedded catalogue and the whole pipeline in one process, without MCP; queries with words that nobody used before, of a
server that keeps no results. Prints ms of processor time, of all threads, for a search.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import Settings
from server.wiring import open_app
from session.resilience.deadline import Deadline
from tests.load.calls import TOOL, turns
from tests.load.stack_turns import never_asked

MEANING_SECONDS = 120.0
WARM_CALLS = 50
ROUNDS, ROUND_SECONDS = 5, 3.0


@dataclass(frozen=True, slots=True)
class Searched:
    """`cpu_ms` is of one search."""

    calls: int
    seconds: float
    cpu_ms: float


class Searches:
    def __init__(self, app: Application) -> None:
        self._app = app
        self._tool = app.registry.get(TOOL)

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[Self]:
        """Of the server that the environment describes, but for the cache, which is off."""
        settings = Settings.from_environment(os.environ | {"MANGA_CACHE": "off"})
        async with open_app(settings) as app:
            yield cls(app)

    async def warm(self) -> None:
        """Until searches go by meaning as well."""
        over = Deadline.after(MEANING_SECONDS)
        while "meaning" not in json.dumps(await self._app.dependencies.states()):
            if over.expired():
                raise AssertionError("no search by meaning")
            await asyncio.sleep(0.2)
        await self.go(calls=WARM_CALLS)

    async def go(self, seconds: float = 0.0, calls: int = 0) -> Searched:
        """One after the other, for so long or so many."""
        run, made, began, used = uuid.uuid4().hex[:8], 0, time.perf_counter(), time.process_time()
        for turn, query in zip(turns(run, 0, 1), never_asked(run, 0, 1), strict=False):
            await self._search(RequestMetadata(session=turn.session, turn=turn.turn, user=turn.user), query)
            made += 1
            if made >= calls and time.perf_counter() - began >= seconds:
                break
        cpu_ms = (time.process_time() - used) * 1000 / made
        return Searched(made, time.perf_counter() - began, cpu_ms)

    async def _search(self, stated: RequestMetadata, query: str) -> None:
        """Raises `AssertionError` for a failure. On a busy machine some answer goes without its stock."""
        assert self._tool is not None
        call = Call(uuid.uuid4().hex, self._tool, {"query": query}, stated, time.monotonic(), transport="bench")
        outcome = await self._app.pipeline.run(call)
        assert outcome.has_succeeded, outcome.failure


async def measure(catalogue: str | None) -> list[float]:
    if catalogue is not None:
        os.environ["MANGA_CATALOG_FILE"] = catalogue
    async with Searches.opened() as searches:
        await searches.warm()
        return [(await searches.go(seconds=ROUND_SECONDS)).cpu_ms for _ in range(ROUNDS)]


if __name__ == "__main__":
    print("ms a search:", *(f"{each:.2f}" for each in sorted(asyncio.run(measure(*sys.argv[1:2] or [None])))))
