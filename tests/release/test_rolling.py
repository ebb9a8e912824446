"""One replica after the other is replaced by one of another release while customers shop: nobody notices."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.release.beside import THIS, Release, Stack
from tests.release.load import MOST_LATE_SHARE, Shoppers
from tests.support.process import Process, serving, until
from tests.support.raw import ask
from tests.support.round_robin import round_robin

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(400)]

SHOPPERS_A_SECOND = 1.2
"""Some eight calls each."""
MIXED_SECONDS = 8.0
END_SECONDS = 25.0
DEREGISTRATION_SECONDS = 1.5
"""Between the last request that a server is sent and its SIGTERM, as load balancers have it."""
SEEN = ("live", "cache", "switched off", "cancelled", "streams opened again", "sessions begun again")
"""Without any of these less would have been tried."""


def orders_of(release: Release) -> dict[str, list[str]]:
    """The numbers of each user's orders, the latest first."""
    rows = map(json.loads, (release.tree / "infra/demo/orders.jsonl").read_text("utf-8").splitlines())
    found: dict[str, list[str]] = defaultdict(list)
    for order in sorted(rows, key=lambda order: str(order["ordered_at"]), reverse=True):
        found[order["owner"]].append(order["order_id"])
    return found


class Replicas:
    """Two servers behind a proxy without affinity."""

    def __init__(self, settings: dict[str, str], folder: Path, running: AsyncExitStack) -> None:
        self._settings = {name.removeprefix("MANGA_").lower(): value for name, value in settings.items()}
        self._folder, self._running = folder, running
        self.processes: list[Process] = []

    async def start(self, release: Release) -> Process:
        process = await self._running.enter_async_context(
            serving(tree=release.tree, data_dir=self._folder, **self._settings)
        )

        async def ready() -> bool:
            return (await ask(process.port, "GET", "/readyz")).json()["status"] == "ready"

        await until(ready, END_SECONDS, f"{release.name} is ready")
        return process


@asynccontextmanager
async def shopping(shoppers: Shoppers) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(shoppers.come(SHOPPERS_A_SECOND, stop))
    try:
        yield
    finally:
        stop.set()
        await task


@pytest.mark.parametrize("to", ["this", "last"])
async def test_a_rolling_deployment_fails_no_call(to: str, stack: Stack, last: Release, tmp_path: Path) -> None:
    """Forwards from what the last release has seeded, and back from what this one has."""
    before, after = (last, THIS) if to == "this" else (THIS, last)
    await asyncio.to_thread(stack.seed, before, last)
    async with AsyncExitStack() as running:
        own = Replicas(stack.settings(last), tmp_path, running)
        processes = [await own.start(before), await own.start(before)]
        port, proxy = await running.enter_async_context(round_robin([each.url for each in processes]))
        shoppers = Shoppers(port, orders_of(last))
        began = time.monotonic()
        async with shopping(shoppers):
            await asyncio.sleep(2)
            for number in (0, 1):
                stack.flags.set(enable_price_comparison_tool=number == 0)
                new, old = await own.start(after), processes[number]
                proxy.replace(number, new.url)
                await asyncio.sleep(DEREGISTRATION_SECONDS)
                old.signal(signal.SIGTERM)
                assert await old.ended(END_SECONDS) == 0, old.log
                processes[number] = new
                await asyncio.sleep(MIXED_SECONDS if number == 0 else 2)
        told = f"{before.name} to {after.name} in {time.monotonic() - began:.0f} s: {dict(shoppers.counted)}"
        print(told)
        assert not shoppers.wrong, "\n".join([told, *shoppers.wrong])
        assert shoppers.late_share <= MOST_LATE_SHARE, told
        assert all(shoppers.counted[each] for each in SEEN), told
        for process in processes:
            process.signal(signal.SIGTERM)
            assert await process.ended(END_SECONDS) == 0, process.log
            assert "Traceback" not in process.log, process.log
