"""`make load`: open-loop load up to the knee and beyond it, a soak at half the knee, turns on the real stack.

How it is measured is in tests/load/report.md, which `--write` fills together with its plots.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.load.open_loop import report
from tests.load.open_loop.measured import CLIENT_LATE_MS, ClientTooLate
from tests.load.open_loop.on_stack import OnStack, on_stack
from tests.load.open_loop.rig import rig
from tests.load.open_loop.soak import Soak, soak
from tests.load.open_loop.steps import Steps, climb
from tests.load.results import Bar

Say = Callable[[str], None]
PARTS = ("steps", "soak", "stack")


@dataclass(frozen=True, slots=True)
class Plan:
    """`warm`: what many ask is cached before. `soak_rate` is half the knee when it is None; no minutes, no soak."""

    rates: Sequence[float] = (50, 100, 200, 400)
    seconds: float = 20.0
    settle: float = 2.0
    warm: bool = True
    halvings: int = 2
    overload: bool = True
    soak_minutes: float = 10.0
    soak_rate: float | None = None
    stack: bool = False
    stack_seconds: float = 60.0
    only: Sequence[str] = ()
    client_late_ms: float = CLIENT_LATE_MS
    environment: dict[str, str] = field(default_factory=dict)

    def wants(self, part: str) -> bool:
        return not self.only or part in self.only


SHORT = Plan(
    rates=(30,),
    seconds=2.0,
    settle=0.3,
    warm=False,
    halvings=0,
    overload=False,
    soak_minutes=0.06,
    soak_rate=30,
    stack_seconds=10.0,
    client_late_ms=float("inf"),
    environment={"MANGA_EMBEDDER": "none"},
)


@dataclass(slots=True)
class Results:
    steps: Steps | None = None
    soak: Soak | None = None
    stack: OnStack | None = None
    refused: list[str] = field(default_factory=list)

    def bars(self) -> list[Bar]:
        return [
            *(report.overload_bars(self.steps) if self.steps else ()),
            *(self.soak.bars() if self.soak else ()),
            *(self.stack.bars() if self.stack else ()),
        ]


async def measure(plan: Plan, say: Say = lambda _: None) -> Results:
    results = Results()
    with tempfile.TemporaryDirectory(prefix="manga-load-") as name:
        folder = Path(name)
        if plan.wants("steps") or plan.wants("soak"):
            with _noting_refusal(results):
                await _on_one_process(plan, folder, results, say)
        if plan.stack and plan.wants("stack"):
            with _noting_refusal(results):
                results.stack = await on_stack(folder, plan.stack_seconds, say, plan.client_late_ms)
    return results


@contextmanager
def _noting_refusal(results: Results) -> Iterator[None]:
    """A part in which the client was late has no figures; the others keep theirs."""
    try:
        yield
    except ClientTooLate as error:
        results.refused.append(str(error))


async def _on_one_process(plan: Plan, folder: Path, results: Results, say: Say) -> None:
    rate = plan.soak_rate
    if plan.wants("steps"):
        async with rig(folder, plan.environment, client_late_ms=plan.client_late_ms) as running:
            if plan.warm:
                await running.warm()
            found = results.steps = await climb(
                running, plan.rates, plan.seconds, plan.settle, plan.halvings, plan.overload, say
            )
            rate = rate or (found.knee / 2 if found.knee else None)
    if plan.soak_minutes and plan.wants("soak"):
        if rate is None:
            raise SystemExit("no knee was found and --soak-rate names no rate: there is nothing to soak at")
        # In a process of its own: one that was overloaded before has its memory from then.
        async with rig(folder, plan.environment, client_late_ms=plan.client_late_ms) as running:
            if plan.warm:
                await running.warm()
            say(f"soak, {plan.soak_minutes:g} minutes at {rate:g} calls/s")
            results.soak = await soak(running, rate, plan.soak_minutes, say)


def sections(results: Results, plan: Plan) -> dict[str, str]:
    """Markdown, by the part of the report."""
    found = {}
    if results.steps:
        found["steps"] = report.steps_section(results.steps, plan.seconds)
    if results.soak:
        found["soak"] = report.soak_section(results.soak)
    if results.stack:
        found["stack"] = report.stack_section(results.stack)
    return found


def write(results: Results, plan: Plan) -> None:
    from tests.load.open_loop import plots  # Matplotlib takes a second, which only this needs

    for section, text in sections(results, plan).items():
        report.write(section, text)
    if results.steps:
        plots.plot_steps(results.steps)
    if results.soak:
        plots.plot_soak(results.soak)
    if results.stack:
        plots.plot_stack(results.stack)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    plan = SHORT if asked.short else _plan(asked)
    results = asyncio.run(measure(plan, lambda line: print(line, file=sys.stderr, flush=True)))
    print("\n\n".join(sections(results, plan).values()))
    if asked.write:
        write(results, plan)
    for refusal in results.refused:
        print(f"refused: {refusal} (--client-late-ms allows more)", file=sys.stderr)
    if results.refused:
        return 2
    return 1 if asked.bars and not all(bar.met for bar in results.bars()) else 0


def _plan(asked: argparse.Namespace) -> Plan:
    return Plan(
        rates=asked.rates,
        seconds=asked.seconds,
        soak_minutes=asked.soak_minutes,
        soak_rate=asked.soak_rate,
        stack=asked.stack or "stack" in asked.only,
        stack_seconds=asked.stack_seconds,
        only=asked.only,
        client_late_ms=asked.client_late_ms,
    )


def _parser() -> argparse.ArgumentParser:
    default = Plan()
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.open_loop", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", type=_rates, default=default.rates, help="calls/s, doubled on until the knee: 50,100,…")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="for each rate")
    parser.add_argument("--soak-minutes", type=float, default=default.soak_minutes, help="0: no soak")
    parser.add_argument("--soak-rate", type=float, help="calls/s instead of half the knee")
    parser.add_argument("--stack", action="store_true", help="also on real OpenSearch, DynamoDB and Redis (tests/stack)")
    parser.add_argument("--stack-seconds", type=float, default=default.stack_seconds)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=())
    parser.add_argument("--client-late-ms", type=float, default=CLIENT_LATE_MS, help="p99 at which a run is refused")
    parser.add_argument("--short", action="store_true", help="seconds instead of minutes: does it still run?")
    parser.add_argument("--write", action="store_true", help="fill tests/load/report.md and write its plots")
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    return parser


def _rates(text: str) -> list[float]:
    return sorted(float(word) for word in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
