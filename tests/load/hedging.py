"""Would a second attempt pay? `python -m tests.load.hedging`: stock of titles from a real DynamoDB Local, titles from a real
OpenSearch, each read once and with a second attempt at p95, under a budget of 5 % more requests.

Arrivals are drawn before (open loop). Three kinds of slowness, each added before the backend is asked: none of ours; one
request in a hundred takes 200 ms more, whatever the others do (a bad replica); everything waits while the backend pauses, 200 ms
in every five seconds (a collector). Both ways take turns, so that the machine's other work hits them alike.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from session.resilience.deadline import Deadline
from tests.load.results import percentile
from tests.load.stack_servers import Backends, backends
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.catalog import OpenSearchCatalog

Read = Callable[[], Awaitable[object]]
RATE, SECONDS, ROUNDS = 20.0, 9.0, 2
EXTRA_SECONDS, ONE_IN, PERIOD_SECONDS = 0.2, 100, 5.0
BUDGET = 0.05
KEPT = 100
ENOUGH = 40
TITLES = [f"manga-{number:06}" for number in range(1001, 1006)]


async def as_it_is() -> None:
    """Adds nothing."""


async def one_in_a_hundred() -> None:
    if not random.randrange(ONE_IN):
        await asyncio.sleep(EXTRA_SECONDS)


async def pauses() -> None:
    into = time.perf_counter() % PERIOD_SECONDS
    if into < EXTRA_SECONDS:
        await asyncio.sleep(EXTRA_SECONDS - into)


@dataclass
class Hedge:
    """`read`, and where it takes longer than 95 in a hundred lately did and the budget allows, once more beside it: what
    comes first counts, the other is cancelled. `requests` and `seconds` are what was measured."""

    read: Read
    share: float
    requests: int = 0
    seconds: list[float] = field(default_factory=list)
    _earned: float = 0.0

    async def ask(self) -> None:
        began = time.perf_counter()
        self._earned += self.share
        tasks = [self._attempt()]
        late = percentile(self.seconds[-KEPT:], 0.95) if self.share and len(self.seconds) >= ENOUGH else None
        try:
            done, _ = await asyncio.wait(tasks, timeout=late)
            if not done and self._earned >= 1:
                self._earned -= 1
                tasks.append(self._attempt())
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            self.seconds.append(time.perf_counter() - began)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _attempt(self) -> asyncio.Task[object]:
        self.requests += 1
        return asyncio.ensure_future(self.read())


async def paced(hedge: Hedge) -> None:
    """Poisson arrivals for so many seconds."""
    due, until, calls = time.perf_counter(), time.perf_counter() + SECONDS, []
    while (due := due + random.expovariate(RATE)) < until:
        await asyncio.sleep(due - time.perf_counter())
        calls.append(asyncio.create_task(hedge.ask()))
    await asyncio.gather(*calls)


def row(name: str, slowness: str, way: str, hedge: Hedge) -> str:
    shares = "".join(f"{percentile(hedge.seconds, share) * 1000:9.1f}" for share in (0.5, 0.95, 0.99, 1.0))
    return f"{name:11} {slowness:17} {way:6} {shares} {hedge.requests / len(hedge.seconds):9.3f}"


async def measured(name: str, read: Read) -> None:
    for slow in (as_it_is, one_in_a_hundred, pauses):

        async def late(slow: Callable[[], Awaitable[None]] = slow) -> object:
            await slow()
            return await read()

        ways = {"once": Hedge(late, 0.0), "hedged": Hedge(late, BUDGET)}
        for _ in range(ROUNDS):
            for hedge in ways.values():
                await paced(hedge)
        for way, hedge in ways.items():
            print(row(name, slow.__name__.replace("_", " "), way, hedge), flush=True)


async def main() -> int:
    print("backend     slowness          way       p50 ms   p95 ms   p99 ms   max ms  requests a read")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-hedging-")))
        await both(stack, await stack.enter_async_context(backends(folder)))
    return 0


async def both(stack: AsyncExitStack, there: Backends) -> None:
    settings = there.settings()
    store = await stack.enter_async_context(DynamoStore.open(DynamoAddress.parse(settings["MANGA_STORE_URL"])))
    index = OpenSearchAddress.parse(settings["MANGA_CATALOG_URL"])
    catalog = await stack.enter_async_context(OpenSearchCatalog.open(index, None))
    await measured("DynamoDB", lambda: store.stock.availability(TITLES, Deadline.after(5)))
    await measured("OpenSearch", lambda: catalog.get(TITLES, Deadline.after(5)))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
