"""What a second worker brings and costs: `python -m tests.load.workers`.

Two servers of the demo catalogue run side by side, one with MANGA_WORKERS=1 and one with 2, each with an embedded Valkey, and
are asked in turn in every round, so that drift of the machine hits both alike: searches that are cached, and searches that
nobody has asked before. The clients are sockets and string search in this process, a closed loop without a pause, in the
stateless protocol; their CPU is a row of its own.

Calls a second by the clock say what two workers serve *beside their clients* on this machine: where clients and Valkey share
two processors with them, less than twice. Calls for each second of the servers' CPU say what a call costs, and so what they
would serve with processors of their own. Memory is read after the load, of every process (/proc/PID/smaps_rollup): USS is
what would be free without it, PSS adds its share of what several have.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.load.procfs import cpu_ms, is_worker_or_server, memory_mb
from tests.support.process import Process, descendants, serving, until
from tests.support.raw import ask, call, head, in_2026

WORKERS = (1, 2)
CACHED, UNSEEN = "cached", "unseen"
KNOWN = ("One Piece", "Naruto", "Berserk", "よつばと", "Monster", "Nana", "Vinland Saga", "sailor")
WORDS = ("dragon", "school", "robot", "kitchen", "ghost", "ocean", "detective", "music", "samurai", "space", "cat", "war")
START_SECONDS = 60.0
MOST_MEGABYTES, LEAST_GAIN = 60.0, 1.7


@dataclass(slots=True)
class Sample:
    """One round of one server: calls, by the clock and by the CPU of its processes but Valkey."""

    calls: int
    seconds: float
    cpu_seconds: float
    client_seconds: float

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_seconds / self.calls


@dataclass(slots=True)
class Figures:
    samples: dict[tuple[str, int], list[Sample]] = field(default_factory=dict)
    memory: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    """Of each server (USS, PSS) of its processes in megabytes, the supervisor first."""

    def gain(self, what: str) -> float:
        """By the clock, within the rounds."""
        return median(
            two.per_second / one.per_second for one, two in zip(self.samples[what, 1], self.samples[what, 2], strict=True)
        )

    def gain_by_cpu(self, what: str) -> float:
        """With a processor each: twice, but for what a call costs more."""
        return 2 * median(
            one.cpu_ms / two.cpu_ms for one, two in zip(self.samples[what, 1], self.samples[what, 2], strict=True)
        )

    @property
    def second_worker_mb(self) -> float:
        """The largest USS of a worker: what ending it would free."""
        return max(uss for uss, _ in self.memory[2][1:])

    @property
    def both_more_mb(self) -> float:
        """What two workers and their supervisor take, beyond one process by itself."""
        return sum(pss for _, pss in self.memory[2]) - sum(pss for _, pss in self.memory[1])


class Client(asyncio.Protocol):
    """Asks until the time is over, on one connection."""

    def __init__(self, requests: Iterator[bytes], until: float) -> None:
        self._requests, self._until = requests, until
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.calls = 0
        self._answer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not _whole(self._answer):
            return
        if b'"structuredContent"' not in self._answer:
            self.connection_lost(ConnectionError(bytes(self._answer[:500])))
            return
        self.calls += 1
        self._answer.clear()
        if time.perf_counter() < self._until:
            self._transport.write(next(self._requests))
        elif not self.done.done():
            self.done.set_result(None)
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("closed in the middle"))


def _whole(answer: bytearray) -> bool:
    start = answer.find(b"\r\n\r\n") + 4
    if start < 4:
        return False
    at = answer.find(b"content-length: ", 0, start)
    if at < 0:
        return answer.endswith(b"0\r\n\r\n")
    return len(answer) - start >= int(answer[at + 16 : answer.find(b"\r", at)])


def requests(what: str, run: str, client: int) -> Iterator[bytes]:
    """Each of another customer and conversation, so that no limit is met and nothing grows."""
    for number in itertools.count():
        words = "".join(chr(0x61 + (number // 26**place) % 26) for place in range(3))
        asked = f"{WORDS[number % len(WORDS)]} {WORDS[number * 7 % len(WORDS)]} {run}{client}{words}"
        query = KNOWN[number % len(KNOWN)] if what == CACHED else asked
        meta = {"com.mangaassist/sessionId": f"{run}-{client}-{number // 3}", "com.mangaassist/turnId": f"{number // 3}"}
        body, headers = in_2026(call("search_manga_catalog", {"query": query}, meta, number))
        data = json.dumps(body).encode()
        yield head("POST", "/mcp", headers, len(data)) + data


async def measured(process: Process, what: str, run: str, clients: int, seconds: float) -> Sample:
    own = [pid for pid in (process.pid, *descendants(process.pid)) if is_worker_or_server(pid)]
    cpu, client_cpu, began = sum(map(cpu_ms, own)), time.process_time(), time.perf_counter()
    loop = asyncio.get_running_loop()
    asking = [Client(requests(what, run, number), began + seconds) for number in range(clients)]
    for each in asking:
        await loop.create_connection(lambda each=each: each, "127.0.0.1", process.port)
    await asyncio.gather(*(each.done for each in asking))
    passed = time.perf_counter() - began
    used = (sum(map(cpu_ms, own)) - cpu) / 1000
    return Sample(sum(each.calls for each in asking), passed, used, time.process_time() - client_cpu)


async def measure(rounds: int, seconds: float, clients: int, **settings: object) -> Figures:
    figures = Figures()
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        servers = {}
        for workers in WORKERS:
            given = {"workers": workers, "data_dir": folder, "rate_limit": "off", "turn_budget_ms": 60_000}
            servers[workers] = await stack.enter_async_context(
                serving(**{**given, "max_concurrent_calls": 1000, **settings})
            )
        for process in servers.values():
            await until(lambda process=process: _warm(process), START_SECONDS, "the server is ready")
        for turn, what in itertools.product(range(-1, rounds), (CACHED, UNSEEN)):
            for workers in WORKERS if turn % 2 else reversed(WORKERS):
                sample = await measured(servers[workers], what, f"{turn + 1}x{workers}", clients, seconds)
                if turn >= 0:  # the first round warms up
                    figures.samples.setdefault((what, workers), []).append(sample)
        for workers, process in servers.items():
            own = [pid for pid in (process.pid, *sorted(descendants(process.pid))) if is_worker_or_server(pid)]
            figures.memory[workers] = [memory_mb(pid) for pid in own]
    return figures


async def _warm(process: Process) -> bool:
    told = json.loads((await ask(process.port, "GET", "/readyz")).body)
    wanted = (process.port and "meaning") if "embedder" in told["dependencies"] else "titles"
    return bool(told["status"] == "ready" and wanted in told["dependencies"]["catalog"]["detail"])


def table(figures: Figures) -> str:
    lines = ["          workers  calls/s  CPU ms  client CPU ms"]
    for (what, workers), samples in sorted(figures.samples.items()):
        calls, cost = median(each.per_second for each in samples), median(each.cpu_ms for each in samples)
        client = median(1000 * each.client_seconds / each.calls for each in samples)
        lines.append(f"{what:8}  {workers:7}  {calls:7.0f}  {cost:6.2f}  {client:13.2f}")
    for what in (CACHED, UNSEEN):
        clock, cpu = figures.gain(what), figures.gain_by_cpu(what)
        lines.append(f"{what}: two workers serve {clock:.2f} times one by the clock, {cpu:.2f} times with a processor each")
    for workers, processes in figures.memory.items():
        told = ", ".join(f"{uss:.0f}/{pss:.0f}" for uss, pss in processes)
        lines.append(
            f"MANGA_WORKERS={workers}: USS/PSS MB of its processes {told}; PSS of all {sum(p for _, p in processes):.0f}"
        )
    lines.append(f"the second worker: {figures.second_worker_mb:.0f} MB of its own (bar {MOST_MEGABYTES:.0f})")
    lines.append(f"two workers and their supervisor, beyond one process by itself: {figures.both_more_mb:.0f} MB")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.workers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each server and kind of search in a round")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--catalogue", type=Path, help="another than the demo's")
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    asked = parser.parse_args()
    settings = {"embedder": "local", **({"catalog_file": asked.catalogue} if asked.catalogue else {})}
    figures = asyncio.run(measure(asked.rounds, asked.seconds, asked.clients, **settings))
    print(table(figures))
    good = figures.second_worker_mb <= MOST_MEGABYTES and figures.gain_by_cpu(UNSEEN) >= LEAST_GAIN
    return 0 if good or not asked.bars else 1


if __name__ == "__main__":
    sys.exit(main())
