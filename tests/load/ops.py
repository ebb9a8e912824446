"""`python -m tests.load.ops`: what the operators' page costs. CPU of the server at 200 cached calls a second over HTTP+SSE, an open
loop: with MANGA_OPS=off, with no page open, with one and with eight, in one run, in rounds, in turn and back; ratios are
taken within a round, and the median over the rounds counts.

The time is what the kernel says that each thread was on a processor (/proc/PID/task/TID/schedstat), to the nanosecond. The two
servers are two processes of the same kind, so `closed` to `off` has the difference of two equal servers in it (a second `off`
server tells how much that is); `one` and `eight` are compared with `closed` of the very same process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.load import report
from tests.load.children import Child, python
from tests.load.procfs import rss_mb
from tests.load.variants import PRODUCT
from tests.support.ops import Events, watching
from tests.support.ports import free_port

RATE, CLIENTS = 200.0, 12
OFF, AGAIN, CLOSED, ONE, EIGHT = "off", "off, another", "closed", "one page", "eight pages"
PAGES = {OFF: 0, AGAIN: 0, CLOSED: 0, ONE: 1, EIGHT: 8}
COMPARED = {AGAIN: OFF, CLOSED: OFF, ONE: CLOSED, EIGHT: CLOSED}
BARS = {CLOSED: 1.01, ONE: 1.03, EIGHT: 1.03}
"""Nothing when closed, which is to say no more than two equal servers differ by; 3 % when open."""
CLOSED_SECONDS = 4.0
"""After the last page has closed: its server lingers for three."""
WARM_CALLS = 600
MOST_WRONG = 0.01
Say = Callable[[str], None]
Sample = dict[str, float]


@dataclass(slots=True)
class Results:
    """CPU in ms a call, by variant, for each round; bytes a second that one page is told; MB of the server."""

    seconds: float
    samples: list[Sample] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    megabytes: dict[str, float] = field(default_factory=dict)

    def ratios(self) -> Sample:
        return {kind: statistics.median(each[kind] / each[to] for each in self.samples) for kind, to in COMPARED.items()}

    def missed(self) -> list[str]:
        found = self.ratios()
        return [kind for kind, most in BARS.items() if found[kind] > most]


def cpu_seconds(pid: int) -> float:
    """Of all threads that live."""
    nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((task / "schedstat").read_text("ascii").split()[0])
    return nanoseconds / 1e9


@asynccontextmanager
async def serving(folder: Path, ops: str) -> AsyncIterator[tuple[Child, int]]:
    port = free_port()
    folder.mkdir()
    environment = PRODUCT | {"MANGA_PORT": str(port), "MANGA_OPS": ops, "MANGA_EMBEDDER": "none"}
    async with python(folder, "server", "serve", "--with-parent", environment=environment) as child:
        await child.serving(port)
        yield child, port


async def measure(seconds: float, rounds: int, say: Say = lambda _: None) -> Results:
    results = Results(seconds)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-ops-")))
        load = await stack.enter_async_context(python(folder, "tests.load.paced_client", worker=True))
        off = await stack.enter_async_context(serving(folder / "off", "off"))
        again = await stack.enter_async_context(serving(folder / "again", "off"))
        on = await stack.enter_async_context(serving(folder / "on", "on"))
        servers = {OFF: off, AGAIN: again, CLOSED: on, ONE: on, EIGHT: on}
        for server, port in (off, again, on):
            await _loaded(load, port, WARM_CALLS)
            say(f"warm: {rss_mb(server.pid):.0f} MB")
        for number in range(rounds):
            results.samples.append({})
            for kind in PAGES if number % 2 else reversed(PAGES):
                results.samples[-1][kind] = await _sample(results, load, *servers[kind], kind)
            say("  ".join(f"{kind} {ms:.3f}" for kind, ms in results.samples[-1].items()))
    return results


async def _sample(results: Results, load: Child, server: Child, port: int, kind: str) -> float:
    async with AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(watching(port)) for _ in range(PAGES[kind])]
        for page in pages:
            await page.next("state")
        reading = [asyncio.create_task(_discard(page)) for page in pages]
        calls = round(RATE * results.seconds)
        before = cpu_seconds(server.pid)
        took = await _loaded(load, port, calls)
        used = cpu_seconds(server.pid) - before
        results.megabytes[kind] = rss_mb(server.pid)
        results.told += [len(page.said) / took for page in pages]
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    if pages:
        await asyncio.sleep(CLOSED_SECONDS)
    return 1000 * used / calls


async def _discard(page: Events) -> None:
    """What is heard is not looked at: that would be this machine's time too."""
    while (piece := await page.connection.chunk()) is not None:
        page.said += piece


async def _loaded(load: Child, port: int, calls: int) -> float:
    """Makes so many calls, and tells how long that took, with the second after it. Raises for wrong answers."""
    await load.ask("connect", ports=[port], clients=CLIENTS, run=uuid.uuid4().hex[:8])
    answer = await load.ask("go", calls=calls, rate=RATE, within=60 + 4 * calls / RATE)
    await load.ask("close")
    if answer["wrong"] + answer["lost"] > MOST_WRONG * calls:
        raise AssertionError(f"{answer['wrong']} wrong answers, {answer['lost']} lost; the first: {answer['first_wrong']}")
    return float(answer["seconds"]) + 1.0


def table(results: Results) -> str:
    found = results.ratios()
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {len(results.samples)} rounds of {results.seconds:g} s for each, {RATE:g} calls/s",
        report.machine(),
        "",
        f"{'MANGA_OPS':14}{'CPU ms a call':>14}{'ratio':>8}  {'to':8}{'quartiles':>16}{'RSS MB':>8}",
    ]
    for kind, to in {OFF: None, **COMPARED}.items():
        cpu = statistics.median(each[kind] for each in results.samples)
        ratio = f"{found[kind]:8.3f}  {to:8}{_quartiles(results, kind, to):>16}" if to else " " * 34
        lines.append(f"{kind:14}{cpu:14.3f}{ratio}{results.megabytes[kind]:8.0f}")
    lines += ["", f"a page is told {statistics.median(results.told) / 1024:.1f} KB a second", ""]
    for kind, most in BARS.items():
        lines.append(f"{'met   ' if found[kind] <= most else 'MISSED'}  {kind}: {found[kind]:.3f} (bar <= {most})")
    return "\n".join(lines) + "\n"


def _quartiles(results: Results, kind: str, to: str) -> str:
    ratios = sorted(each[kind] / each[to] for each in results.samples)
    quarter = len(ratios) // 4
    return f"{ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.ops", description=(__doc__ or "").partition(". ")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each variant in each round")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    asked = parser.parse_args(arguments)
    results = asyncio.run(measure(asked.seconds, asked.rounds, lambda line: print(line, file=sys.stderr, flush=True)))
    print(table(results))
    return 1 if asked.bars and results.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
