"""Half the knee for minutes: does anything grow that should not?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.load.open_loop.measured import Measured, Row
from tests.load.open_loop.rig import Rig
from tests.load.open_loop.watch import threads_and_files
from tests.load.procfs import rss_mb, unix_socket_of
from tests.load.results import Bar, percentile

SAMPLE_SECONDS = 2.0
SLOPE_MB_A_MINUTE, GROWTH_SHARE = 1.0, 0.05
P99_GROWTH = 1.5
WARM_SHARE = 0.5
"""Of the soak's minutes, before them: the bounded caches fill, the largest with 5,000 searches at some 15 new ones a second."""


@dataclass(frozen=True, slots=True)
class Sample:
    """`at` in seconds from the start; MB."""

    at: float
    rss: float
    threads: int
    files: int
    valkey_rss: float
    valkey_used: float
    valkey_keys: int


@dataclass(slots=True)
class Soak:
    measured: Measured
    minutes: float
    samples: list[Sample] = field(default_factory=list)

    @property
    def settled(self) -> list[Sample]:
        """After the warm-up."""
        return [sample for sample in self.samples if sample.at >= self.samples[-1].at * WARM_SHARE / (1 + WARM_SHARE)]

    @property
    def slope(self) -> float:
        """MB a minute of the server's RSS after the warm-up, by least squares."""
        return 60 * slope([(sample.at, sample.rss) for sample in self.settled])

    @property
    def halves(self) -> tuple[float, float]:
        """The same of each half of what is after the warm-up: whether it slows down."""
        middle = len(self.settled) // 2
        first, last = (
            [(sample.at, sample.rss) for sample in part] for part in (self.settled[:middle], self.settled[middle:])
        )
        return 60 * slope(first), 60 * slope(last)

    @property
    def growth(self) -> float:
        """Share by which the server's RSS is larger at the end than after the warm-up; means of a tenth of the samples."""
        few = max(1, len(self.settled) // 10)
        first, last = self.settled[:few], self.settled[-few:]
        return sum(sample.rss for sample in last) / sum(sample.rss for sample in first) - 1

    def p99_by_minute(self) -> list[float]:
        """ms, of calls that got a result, by the minute in which they were due; an unfinished last minute is left out."""
        minutes: dict[int, list[Row]] = {}
        for row in self.measured.rows:
            if row.succeeded:
                minutes.setdefault(int(row.due // 60), []).append(row)
        whole = [minutes[minute] for minute in sorted(minutes) if minute < int(self.minutes * (1 + WARM_SHARE))]
        return [1000 * percentile([row.latency for row in rows], 0.99) for rows in whole]

    def bars(self) -> list[Bar]:
        threads, files = ([getattr(s, name) for s in self.settled] for name in ("threads", "files"))
        return [
            Bar("RSS of the server, MB a minute after the warm-up", self.slope, SLOPE_MB_A_MINUTE, at_least=False),
            Bar("RSS of the server, growth after the warm-up", self.growth, GROWTH_SHARE, at_least=False),
            Bar("threads at the end - after the warm-up", float(threads[-1] - threads[0]), 2, at_least=False),
            Bar("open files at the end - after the warm-up", float(files[-1] - files[0]), 4, at_least=False),
            Bar("share of calls with their result in time", self.measured.achieved, 0.999, at_least=True),
        ]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line with the least squares."""
    count = len(points)
    if not count:
        return 0.0
    mean_x, mean_y = (sum(values) / count for values in zip(*points, strict=True))
    across = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / across if across else 0.0


async def soak(rig: Rig, rate: float, minutes: float, say: Callable[[str], None]) -> Soak:
    samples: list[Sample] = []
    sampling = asyncio.create_task(_sample(rig, samples, say))
    try:
        seconds = 60 * minutes * (1 + WARM_SHARE)
        measured = await rig.once(rate, seconds, settle=0.0, mix="store")  # not refused: memory is what it is about
    finally:
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
    return Soak(measured, minutes, samples)


async def _sample(rig: Rig, samples: list[Sample], say: Callable[[str], None]) -> None:
    valkey = rig.watch["Valkey"]
    redis = MultiplexedRedis(RedisAddress(path=unix_socket_of(valkey)))
    await redis.connect(Deadline.after(5))
    began = time.monotonic()
    try:
        while True:
            info, keys = await redis.trip([Command(("INFO", "memory")), Command(("DBSIZE",))], Deadline.after(5))
            assert isinstance(info, bytes)
            assert isinstance(keys, int)
            used = int(info.partition(b"used_memory:")[2].partition(b"\r\n")[0]) / 2**20
            threads, files = threads_and_files(rig.server.pid)
            at = time.monotonic() - began
            samples.append(Sample(at, rss_mb(rig.server.pid), threads, files, rss_mb(valkey), used, keys))
            if len(samples) % 30 == 1:
                last = samples[-1]
                say(f"soak, {at / 60:4.1f} min: server {last.rss:.1f} MB, Valkey {used:.1f} MB in {keys} keys")
            await asyncio.sleep(SAMPLE_SECONDS)
    finally:
        await redis.aclose()
