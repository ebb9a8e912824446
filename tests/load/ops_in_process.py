"""`python -m tests.load.ops_in_process`: the same question as `tests.load.ops` asks, for a machine that does other things: CPU of
200 cached calls into the pipeline, without MCP and HTTP, by themselves and with all that a page has done for them in the
second that they stand for. Blocks in turn, so short that what else goes on hits both alike; the median of the ratios counts.

The calls cost less than over HTTP, so the ratio is more than a server's; what is written to sockets is not in it. Nor is the
page's clock the wall's: it goes on by a second with each block, so that as many turns are shown as at 200 calls a second.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from server.application import Application
from server.call import CACHE, Call, RequestMetadata
from server.config.settings import Settings
from server.ops.observation import Observation, Process
from server.ops.streams import event
from server.wiring import open_app
from session.resilience.clocks import Clocks
from tests.load import report
from tests.load.calls import ARGUMENTS, CALLS_A_TURN, TOOL, turns
from tests.support.clocks import HandClock

BLOCK = 200
TICKS = 2
MOST = 1.03
SETTINGS = Settings(embedder="none", cache_ttl_s=86_400, rate_limit=False)


class Shop:
    """An application, asked the same by another customer in each turn of three calls."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._calls = self._endless()

    def _endless(self) -> Iterator[Call]:
        registered = self._app.registry.get(TOOL)
        assert registered is not None
        numbers = itertools.count()
        for turn in turns("ops", 0, 1):
            stated = RequestMetadata(session=turn.session, turn=turn.turn, user=turn.user)
            for _ in range(CALLS_A_TURN):
                yield Call(f"ops-{next(numbers)}", registered, dict(ARGUMENTS), stated, time.monotonic())

    async def ask(self, calls: int) -> int:
        """Tells how many were not answered by the cache."""
        wrong = 0
        for _ in range(calls):
            call = next(self._calls)
            call.arrived = time.monotonic()
            outcome = await self._app.pipeline.run(call)
            wrong += outcome.source != CACHE
        return wrong


async def closed(shop: Shop) -> float:
    began = time.process_time()
    await shop.ask(BLOCK)
    return time.process_time() - began


async def opened(shop: Shop, page: Observation, clock: HandClock) -> float:
    began = time.process_time()
    for tick in range(TICKS):
        await shop.ask(BLOCK // TICKS)
        clock.advance(1 / TICKS)
        page.tick()
        b"".join(event("call", each) for each in page.calls())
        if tick:
            event("state", page.state())
    return time.process_time() - began


async def measure(pairs: int) -> list[tuple[float, float]]:
    """CPU seconds of a block closed and one open, for each pair; each comes first in turn."""
    measured = []
    async with open_app(SETTINGS, local=True) as app:
        shop, clock = Shop(app), HandClock()
        await shop.ask(3 * BLOCK)
        page = Observation(Process(SETTINGS, replace(app, clocks=Clocks(monotonic=clock))))
        await opened(shop, page, clock)
        for number in range(pairs):
            app.listeners.end(page)
            first = await closed(shop) if number % 2 else 0.0
            app.listeners.begin(page)
            during = await opened(shop, page, clock)
            app.listeners.end(page)
            measured.append((first or await closed(shop), during))
        page.end()
    return measured


def table(measured: Sequence[tuple[float, float]]) -> str:
    ratios = sorted(during / alone for alone, during in measured)
    found, quarter = statistics.median(ratios), len(ratios) // 4
    costs = [1000 * statistics.median(column) / BLOCK for column in zip(*measured, strict=True)]
    said = f"{'met   ' if found <= MOST else 'MISSED'}  a page open: {found:.3f} (bar <= {MOST})"
    return "\n".join(
        [
            report.machine(),
            f"{len(measured)} pairs of blocks of {BLOCK} calls, CPU ms a call: {costs[0]:.3f} closed, {costs[1]:.3f} open",
            f"{said}; quartiles {ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.ops_in_process", description=(__doc__ or "").partition(": ")[2]
    )
    parser.add_argument("--pairs", type=int, default=200)
    print(table(asyncio.run(measure(parser.parse_args(arguments).pairs))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
