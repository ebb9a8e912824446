"""Fuzzes a running server: `python -m tests.fuzz.run [--inputs 200000] [--seed N]`. Exit status 1 when a bar is missed.

The real process, over real sockets, with bad messages of both eras on every transport, bad HTTP and bare bytes, while a
healthy client, another principal, calls ten times a second and has to get the right answer each time, and soon.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import secrets
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.drivers import DRIVERS
from tests.fuzz.grammar import Grammar
from tests.fuzz.healthy import Healthy
from tests.fuzz.tally import Tally
from tests.fuzz.watch import Waits, watching
from tests.load.procfs import rss_mb
from tests.support.process import until
from tests.support.raw import ask
from tests.support.serving import Serving, start

WARM_SHARE = 0.3
"""Memory is compared with what it was after this share of the inputs: caches and pools have filled by then."""
MOST_GROWTH_MB, MOST_GROWTH = 30.0, 0.15
SETTLE_SECONDS = 20.0
MOST_WAIT_MS = 250.0
"""What anything may cost another principal: /healthz, and a customer's order."""
HARMFUL, HEALTHY = "who-does-harm", "who-does-none"
"""Two principals: the bars on the second say what the first can do to it."""
SETTINGS = {"MANGA_EMBEDDER": "none", "MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": f"{HARMFUL},{HEALTHY}"}
MOST_LOG_BYTES = 400
"""What one input may leave in the log, on average: a line for a call that failed."""
LOG_ERROR = re.compile(r" (?:ERROR|CRITICAL) |Traceback|[Uu]nhandled|never retrieved|never awaited")
GAUGES = ("manga_calls_under_way", "manga_sse_streams")


@dataclass
class Run:
    """One run's figures. `missed` says which bars it did not meet."""

    inputs: int
    seed: str
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    warm_mb: float = 0.0
    end_mb: float = 0.0
    files: tuple[int, int] = (0, 0)
    left: dict[str, float] = field(default_factory=dict)
    healthy: list[float] = field(default_factory=list)
    healthy_wrong: list[str] = field(default_factory=list)
    put_off: int = 0
    waits: Waits = field(default_factory=Waits)
    log_errors: list[str] = field(default_factory=list)
    log_bytes: int = 0
    exit_status: int | None = None

    def missed(self) -> list[str]:
        grown = self.end_mb - self.warm_mb
        bars = {
            f"{self.tally.sent} inputs were sent, not {self.inputs}": self.tally.sent == self.inputs,
            f"{self.tally.wrongs} answers were wrong": not self.tally.wrongs,
            f"{len(self.healthy_wrong)} answers of the healthy client were wrong": not self.healthy_wrong,
            f"others waited, in ms: {self.waits.longest_ms}": max(self.waits.longest_ms.values()) <= MOST_WAIT_MS,
            "nobody else got to ask": len(self.waits.healthz) > self.seconds / 4,
            "the healthy client did not get to call": len(self.healthy) > self.seconds,
            f"{len(self.log_errors)} errors in the log": not self.log_errors,
            f"{self.log_bytes / self.inputs:.0f} bytes of log an input": self.log_bytes / self.inputs < MOST_LOG_BYTES,
            f"memory grew by {grown:.1f} MB": grown < MOST_GROWTH_MB and grown < MOST_GROWTH * self.warm_mb,
            f"files: {self.files[0]} before, {self.files[1]} after": self.files[1] <= self.files[0] + 2,
            f"left behind: {self.left}": not any(self.left.values()),
            f"exit status {self.exit_status}": self.exit_status == 0,
        }
        return [words for words, met in bars.items() if not met]

    def report(self) -> str:
        lines = [
            f"{self.tally.sent} inputs in {self.seconds:.0f} s ({self.tally.sent / self.seconds:.0f}/s), seed {self.seed}"
        ]
        for kind, sent in self.tally.inputs.items():
            outcomes = [(count, name) for (of, name), count in self.tally.outcomes.items() if of == kind]
            lines.append(f"  {kind:6} {sent:7}: " + ", ".join(f"{name} {count}" for count, name in sorted(outcomes)[::-1]))
        times = sorted(self.healthy)
        p50, p99, most = (1000 * times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99, 1))
        right = (
            f"{len(times) - len(self.healthy_wrong)} of {len(times)} answers right, {self.put_off} times told to come back"
        )
        waited = ", ".join(f"{name} {ms:.1f}" for name, ms in self.waits.longest_ms.items())
        asked = f"asked {len(self.waits.healthz)} times; without {self.waits.not_run:.1f} s for which the machine ran others"
        lines += [
            f"another principal waited, longest in ms: {waited} ({asked})",
            f"healthy client: {right}; ms p50 {p50:.1f}, p99 {p99:.1f}, longest {most:.1f}",
            f"memory: {self.warm_mb:.1f} MB warm, {self.end_mb:.1f} MB at the end; open files {self.files[0]}, {self.files[1]}",
            f"log: {self.log_bytes / self.inputs:.0f} bytes an input, {len(self.log_errors)} errors",
            f"SIGTERM: exit status {self.exit_status}",
        ]
        lines += [f"WRONG {words}" for words in [*self.tally.wrong, *self.healthy_wrong[:5], *self.log_errors[:20]]]
        missed = self.missed()
        return "\n".join([*lines, *(f"MISSED {words}" for words in missed), "" if missed else "Every bar was met."])


async def fuzz(serving: Serving, run: Run) -> None:
    port = int(serving.url.rpartition(":")[2])
    healthy = Healthy(port, HEALTHY)
    await healthy.learn()
    files = _files(serving.pid)

    def more() -> bool:
        if run.tally.sent == int(run.inputs * WARM_SHARE):
            run.warm_mb = rss_mb(serving.pid)
        return run.tally.sent < run.inputs

    stop = asyncio.Event()
    living = asyncio.create_task(healthy.live(stop))
    began = time.monotonic()
    try:
        async with watching(port, HEALTHY, serving.pid) as run.waits, asyncio.TaskGroup() as group:
            for driver, number in DRIVERS.items():
                for each in range(number):
                    grammar = Grammar(f"{run.seed} {driver.__name__} {each}", HARMFUL)
                    group.create_task(driver(port, grammar, run.tally, more))
        run.seconds = time.monotonic() - began
    finally:
        stop.set()
        await living
    run.healthy, run.healthy_wrong, run.put_off = healthy.seconds, healthy.wrong, healthy.put_off

    async def all_is_over() -> bool:
        run.left = await _gauges(port)
        run.files = (files, _files(serving.pid))
        return not any(run.left.values()) and run.files[1] <= files + 1

    with contextlib.suppress(AssertionError):  # the report says what is left
        await until(all_is_over, SETTLE_SECONDS, "nothing left behind")
    run.end_mb = rss_mb(serving.pid)


async def _gauges(port: int) -> dict[str, float]:
    lines = (await ask(port, "GET", "/metrics")).body.decode().splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith(GAUGES)}


def _files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def fuzzed(inputs: int, seed: str, folder: Path) -> Run:
    """A server's whole life, with so many bad inputs in it."""
    run = Run(inputs, seed)
    serving = start(folder, folder / "cache", **SETTINGS)
    try:
        asyncio.run(fuzz(serving, run))
        run.exit_status = serving.stop()
    finally:
        if serving.process.poll() is None:
            serving.kill()
    run.log_errors = [line for line in serving.log.splitlines() if LOG_ERROR.search(line)]
    run.log_bytes = serving.log_path.stat().st_size
    return run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", default=secrets.token_hex(4), help="the same seed makes the same inputs")
    parser.add_argument("--log", type=Path, help="where to keep the server's log")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        run = fuzzed(asked.inputs, asked.seed, Path(folder))
        if asked.log:
            asked.log.write_bytes((Path(folder) / "server.log").read_bytes())
    print(run.report())
    return 1 if run.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
