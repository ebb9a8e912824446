"""`python -m tests.load.relay`: two replicas behind a proxy without affinity, with many SSE clients of each kind: whether a call is
lost or answered twice, and what it costs that half of the messages reach the replica that does not hold the stream.

The costs are taken in pairs within one run: the same clients at the same rate through the same proxy, each to its own replica,
then to any. Every kind of client then makes its share of the calls; the replicas' own counts show what ran twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.load import report
from tests.load.relay_rig import Rig, rig
from tests.support import installed
from tests.support.environments import python_of

MOST_ADDED_MS = 1.5
MOST_ADDED_CPU = 0.25
MOST_SECONDS = 3600.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """`clients` and `calls` of each kind; `rounds` of pairs with `paced` calls at `rate` a second in each half."""

    clients: int = 200
    calls: int = 25_000
    rounds: int = 5
    paced: int = 1000
    rate: float = 50.0
    kinds: Sequence[str] = ("strands", "mcp-1", "mcp-2", "typescript")


@dataclass(slots=True)
class Results:
    """Of each half of a round: the median in ms, and CPU of both replicas in ms a call. Of each kind: calls, those that were
    not answered as they should have been, and those that the replicas ran beyond them (below 0: fewer)."""

    p50: dict[str, list[float]] = field(default_factory=lambda: {"own": [], "any": []})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {"own": [], "any": []})
    lost: int = 0
    doubled: int = 0
    kinds: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    first_wrong: str | None = None

    @property
    def added_ms(self) -> float:
        return _median([b - a for a, b in zip(self.p50["own"], self.p50["any"], strict=True)])

    @property
    def added_cpu(self) -> float:
        return _median([b / a - 1 for a, b in zip(self.cpu["own"], self.cpu["any"], strict=True)])

    def bars(self) -> list[tuple[str, float, float]]:
        """What it is about, what was found, and the most that it may be."""
        costs = [
            ("added to the median in ms", round(self.added_ms, 2), MOST_ADDED_MS),
            ("added CPU of the replicas, of 1", round(self.added_cpu, 3), MOST_ADDED_CPU),
        ]
        return [
            ("calls lost, or answered wrongly", self.lost + sum(wrong for _, wrong, _ in self.kinds.values()), 0),
            ("calls run or answered twice", self.doubled + sum(max(more, 0) for _, _, more in self.kinds.values()), 0),
            *(costs if self.p50["any"] else ()),
        ]

    def missed(self) -> list[str]:
        return [about for about, found, most in self.bars() if found > most]


async def measure(plan: Plan, say: Say = lambda _: None) -> Results:
    results = Results()
    async with rig(plan.clients * max(len(plan.kinds), 1)) as own:
        for number in range(plan.rounds):
            for name, ports in (("own", own.own), ("any", [own.to_any])):
                await _paced(own, plan, results, name, ports)
            say(f"round {number + 1}: p50 {results.p50['own'][-1]:.2f} and {results.p50['any'][-1]:.2f} ms")
        for kind in plan.kinds:
            results.kinds[kind] = await _kind(own, plan, results, kind)
            say(f"{kind}: {results.kinds[kind]} {results.first_wrong or ''}")
    return results


async def _paced(own: Rig, plan: Plan, results: Results, name: str, ports: Sequence[int]) -> None:
    await own.load.ask("connect", ports=ports, clients=plan.clients, run=uuid.uuid4().hex)
    await own.load.ask("go", calls=plan.clients, rate=4 * plan.rate, within=MOST_SECONDS)
    before = own.cpu_ms()
    told = await own.load.ask("go", calls=plan.paced, rate=plan.rate, within=MOST_SECONDS)
    results.cpu[name].append((own.cpu_ms() - before) / plan.paced)
    results.p50[name].append(1000 * statistics.median(told["latencies"]))
    results.lost += told["lost"] + told["wrong"]
    results.doubled += told["doubled"]
    results.first_wrong = results.first_wrong or told["first_wrong"]
    await own.load.ask("close")


async def _kind(own: Rig, plan: Plan, results: Results, kind: str) -> tuple[int, int, int]:
    before = await own.calls()
    url = f"http://127.0.0.1:{own.to_any}/sse"
    process = await asyncio.create_subprocess_exec(
        *(*_program(kind), url, str(plan.clients), str(plan.calls)),
        stdout=asyncio.subprocess.PIPE,
        stderr=(own.folder / f"{kind}.stderr").open("wb"),
    )
    try:
        async with asyncio.timeout(MOST_SECONDS):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise RuntimeError(f"{kind} ended with {process.returncode}: {(own.folder / f'{kind}.stderr').read_text()[-2000:]}")
    told: dict[str, Any] = json.loads(said)
    results.first_wrong = results.first_wrong or told["first_wrong"]
    return told["calls"], told["wrong"], await own.calls() - before - told["calls"]


def _program(kind: str) -> list[str]:
    match kind:
        case "typescript":
            return installed.node().beside(installed.CLIENTS / "typescript_caller.mjs")
        case "strands":
            return [str(python_of("clients/strands")), str(installed.CLIENTS / "strands_caller.py")]
        case "mcp-1":
            return [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "sse_caller.py")]
    return [sys.executable, str(installed.CLIENTS / "sse_caller.py")]


def table(plan: Plan, results: Results) -> str:
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, two replicas, {plan.clients} SSE clients of each kind, round robin without affinity",
        report.machine(),
        "",
        f"{'':14}{'own replica':>14}{'any replica':>14}",
        f"{'p50 ms':14}{_median(results.p50['own']):14.2f}{_median(results.p50['any']):14.2f}",
        f"{'CPU ms a call':14}{_median(results.cpu['own']):14.2f}{_median(results.cpu['any']):14.2f}",
        "",
        f"{'client':14}{'calls':>14}{'wrong or lost':>14}{'run twice':>14}",
    ]
    lines += [f"{kind:14}{calls:14}{wrong:14}{more:14}" for kind, (calls, wrong, more) in results.kinds.items()]
    lines.append("")
    for about, found, most in results.bars():
        lines.append(f"{'met   ' if found <= most else 'MISSED'}  {about}: {found:g} (bar <= {most:g})")
    if results.first_wrong:
        lines.append(f"first wrong: {results.first_wrong[:300]}")
    return "\n".join(lines) + "\n"


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.relay", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--clients", type=int, default=200, help="of each kind")
    parser.add_argument("--calls", type=int, default=100_000, help="of all kinds together")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=50.0, help="calls a second while costs are taken")
    parser.add_argument("--only", nargs="*", help="kinds of clients: strands mcp-1 mcp-2 typescript")
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    asked = parser.parse_args(arguments)
    kinds = Plan().kinds if asked.only is None else asked.only
    plan = Plan(asked.clients, asked.calls // max(len(kinds), 1), asked.rounds, rate=asked.rate, kinds=kinds)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    results = asyncio.run(measure(plan, say))
    print(table(plan, results))
    return 1 if asked.bars and results.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
