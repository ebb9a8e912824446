"""`python -m tests.load.standby BUNDLE`: what a standby catalogue costs the process that keeps it.

Loads the bundle beside an event loop that only ticks, as a server does beside its calls, replaces it by itself as a refresh
does, and prints seconds of processor, memory (PSS), how late the loop's ticks were meanwhile, and how long a search takes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from server.commands.serve import GARBAGE
from server.standby import replica as replicas
from server.standby.bundle import FULL, FileStore
from server.standby.replica import Replica
from session.resilience.deadline import Deadline
from tests.support.standby import read_manifest
from tools.store.backends.embedding import LocalEmbedder
from tools.store.models import CatalogQuery, Conditions

TICK_SECONDS = 0.001
QUERIES = (
    "Berserk",
    "進撃の巨人",
    "悲しい恋愛",
    "pirates looking for treasure",
    "bersrek",
    "三浦建太郎",
    "school comedy",
    "完結 ホラー",
)


def megabytes() -> float:
    """The process's share of memory, PSS (proc(5))."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


@asynccontextmanager
async def ticking(told: str) -> AsyncIterator[None]:
    """Prints how the loop fared meanwhile."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append((time.perf_counter() - before - TICK_SECONDS) * 1000)

    task, processor, started = asyncio.create_task(tick()), time.process_time(), time.perf_counter()
    yield
    processor, seconds = time.process_time() - processor, time.perf_counter() - started
    task.cancel()
    late.sort()
    spread = f"p50 {late[len(late) // 2]:.1f}, p99 {late[int(len(late) * 0.99)]:.1f}, worst {late[-1]:.1f} ms late"
    print(f"{told:10} {seconds:6.2f} s, {processor:5.2f} s of processor, {megabytes():6.1f} MB; the loop {spread}")


async def measure(bundle: Path) -> None:
    manifest = await asyncio.to_thread(read_manifest, bundle)
    async with LocalEmbedder() as embedder:
        if manifest.kind == FULL:
            await embedder.embed(["warm up"], Deadline.after(60))
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        kept = Replica(FileStore(bundle), manifest.kind, embedder)
        async with ticking("idle"):
            await asyncio.sleep(1)
        async with ticking("loading"):
            assert await kept.look()
        for _ in range(2):
            bundle.touch()
            async with ticking("refresh"):
                assert await kept.look()
        assert kept.current is not None
        await searched(kept)
        await kept.current.opened.aclose()


async def searched(kept: Replica) -> None:
    assert kept.current is not None
    took: list[float] = []
    for _ in range(10):
        for text in QUERIES:
            before = time.process_time()
            await kept.current.catalog.search(CatalogQuery(text, Conditions(), 10), Deadline.after(5))
            took.append((time.process_time() - before) * 1000)
    print(f"a search: {statistics.median(took):.1f} ms of processor (median), {max(took):.1f} at most")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    options = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level="INFO")
    replicas.GRACE_SECONDS = 0.5
    asyncio.run(measure(options.bundle))
    return 0


if __name__ == "__main__":
    sys.exit(main())
