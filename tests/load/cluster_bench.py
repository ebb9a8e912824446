"""`python -m tests.load.cluster_bench`: our client of a Redis cluster beside redis-py's and, where it is installed, GLIDE.

A cluster of three on this machine. Every client is measured in every round, in turn; ratios are taken within a round, and
the median over the rounds is what counts. CPU is this process's, with the threads of a client's core.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from session.redis.keyvalue import KeyValue
from session.resilience.deadline import Deadline
from tests.load.cluster_clients import clients
from tests.load.cluster_faults import faults
from tests.load.cluster_operations import Operations, Trips
from tests.load.report import machine
from tests.stack.redis_servers import started_cluster
from tests.support.redis_kinds import cluster_address

CALLERS = (1, 16, 64)
TRIP_SECONDS = 5.0
"""Far more than a trip takes: what is measured is the work, and not whom a deadline hits."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Of one client in one round: latencies in ms, CPU in µs an operation."""

    latencies: list[float]
    a_second: float
    cpu_us: float

    def percentile(self, hundredth: int) -> float:
        return statistics.quantiles(self.latencies, n=100)[hundredth - 1]


Samples = dict[tuple[str, int, str], list[Sample]]
"""By operation, number of callers and client: one a round."""


async def measure(rounds: int, trips: int) -> Samples:
    samples: Samples = defaultdict(list)
    with started_cluster() as cluster:
        address = cluster_address(cluster.url)
        async with AsyncExitStack() as stack:
            reached = {name: await reach(address) for name, reach in clients().items()}
            for client in reached.values():
                stack.push_async_callback(client.aclose)
            operations = await Operations.written_down(reached["ours"])
            for _ in range(rounds):
                for (name, own), callers, (client, redis) in itertools.product(
                    operations.by_name().items(), CALLERS, reached.items()
                ):
                    samples[name, callers, client].append(await _sample(redis, own, callers, trips))
    return samples


async def _sample(redis: KeyValue, own: Trips, callers: int, trips: int) -> Sample:
    ways = itertools.islice(itertools.cycle(own), trips)
    latencies: list[float] = []

    async def caller() -> None:
        for steps in ways:
            started = time.perf_counter()
            replies = await redis.trip(steps, Deadline.after(TRIP_SECONDS))
            latencies.append((time.perf_counter() - started) * 1000)
            wrong = [reply for reply in replies if isinstance(reply, Exception)]
            assert not wrong, wrong[0]

    started, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(callers)))
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    return Sample(latencies, trips / seconds, cpu / trips * 1e6)


def table(samples: Samples) -> str:
    """A line for each client, with its ratios to ours in the same rounds."""
    lines = [
        f"{'operation':10}{'callers':>8}  {'client':9}{'ops/s':>8}{'p50 ms':>8}{'p99 ms':>8}{'CPU µs':>8}   ops/s  CPU, to ours"
    ]
    for (operation, callers, client), own in samples.items():
        base = samples[operation, callers, "ours"]
        speed = statistics.median(each.a_second / first.a_second for each, first in zip(own, base, strict=True))
        cost = statistics.median(each.cpu_us / first.cpu_us for each, first in zip(own, base, strict=True))
        p50, p99 = (statistics.median(each.percentile(n) for each in own) for n in (50, 99))
        figures = f"{statistics.median(each.a_second for each in own):8.0f}{p50:8.2f}{p99:8.2f}"
        used = statistics.median(each.cpu_us for each in own)
        lines.append(f"{operation:10}{callers:8}  {client:9}{figures}{used:8.0f}   {speed:5.2f} {cost:5.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    print(machine())
    print(table(asyncio.run(measure(asked.rounds, asked.trips))))
    if not asked.no_faults:
        print()
        print(asyncio.run(faults()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.load.cluster_bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trips", type=int, default=3000, help="for each operation, number of callers and client, a round")
    parser.add_argument("--no-faults", action="store_true", help="leave out the node that hangs and the one that is killed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
