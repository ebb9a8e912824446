"""`make bench`: this server beside the bare SDK and beside an ordinary server, in one run on one machine.

Every variant is measured in every round, in turn, so that whatever else the machine does hits all of them alike; ratios are
taken within a round, and the median over the rounds is what counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.load import command, report
from tests.load.children import Child, python
from tests.load.growth import growth
from tests.load.procfs import cpu_ms, rss_mb
from tests.load.results import Results, Sample
from tests.load.variants import FROM_CACHE, VARIANTS, Running, Variant, product, watched

CLIENTS = (1, 32)
WARM_CALLS = 20
MOST_WRONG = 0.01


@dataclass(frozen=True, slots=True)
class Plan:
    seconds: float = 1.5
    rounds: int = 4
    clients: Sequence[int] = CLIENTS
    only: Sequence[str] = ()
    growth: bool = True
    aged_sessions: int = 3
    aged_calls: int = 1000
    many_sessions: int = 10_000

    @property
    def variants(self) -> list[Variant]:
        return [variant for variant in VARIANTS if not self.only or variant.key in self.only]


async def measure(plan: Plan, say: Any = lambda _: None) -> Results:
    """Starts everything, measures it in rounds, ends everything."""
    results = Results()
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-bench-")))
        load = await stack.enter_async_context(python(folder, "tests.load.raw_client", worker=True))
        answer = await _products_answer(folder, load)
        results.answer_bytes = answer.stat().st_size
        started = {v.key: await stack.enter_async_context(v.start(folder, answer)) for v in plan.variants}
        for number in range(plan.rounds):
            for clients in plan.clients:
                for variant in plan.variants:
                    sample = await _sample(load, variant, started[variant.key], clients, plan)
                    results.add(variant.key, clients, sample)
                    say(f"round {number + 1}, {clients:2} clients, {variant.key:2}: {sample.calls_per_second:7.0f} calls/s")
        for variant in plan.variants:
            running = started[variant.key]
            results.rss_mb[variant.key] = rss_mb(running.child.pid)
            if running.valkey is not None:
                results.valkey_rss_mb[variant.key] = rss_mb(running.valkey)
                if running.port is not None:
                    results.commands[variant.key] = await _commands(load, variant, running)
    if plan.growth:
        say("growth with age and number of sessions")
        results.growth = await growth(plan.aged_sessions, plan.aged_calls, plan.many_sessions)
    return results


async def _products_answer(folder: Path, load: Child) -> Path:
    """What the product answers, for the variants that have to answer the same."""
    file = folder / "answer.json"
    async with product(folder, file) as running:
        await load.ask("connect", port=running.port, clients=1, run="first", echo=False, promised=FROM_CACHE)
        answer = await load.ask("warm", calls=2)
        await load.ask("close")
    file.write_text(report.compact(report.parsed(answer["answer"])["result"]["structuredContent"]), "utf-8")
    return file


async def _sample(load: Child, variant: Variant, running: Running, clients: int, plan: Plan) -> Sample:
    run = uuid.uuid4().hex[:12]
    if running.port is None:
        return await _sample_in_process(variant, running, clients, run, plan)
    await _connect(load, variant, running, clients, run)
    before = _used(running)
    answer = await load.ask("go", seconds=plan.seconds)
    after = _used(running)
    await load.ask("close")
    wrong = _refuse_wrong(variant, answer)
    calls = len(answer["latencies"])
    return Sample(
        latencies=answer["latencies"],
        seconds=answer["seconds"],
        cpu_ms=(after[0] - before[0]) / calls,
        valkey_cpu_ms=(after[1] - before[1]) / calls if running.valkey else None,
        client_cpu_ms=answer["client_cpu_ms"] / calls,
        wrong=wrong,
    )


async def _sample_in_process(variant: Variant, running: Running, clients: int, run: str, plan: Plan) -> Sample:
    before = _used(running)
    answer = await running.child.ask("go", callers=clients, run=run, seconds=plan.seconds)
    after = _used(running)
    wrong = _refuse_wrong(variant, answer)
    calls = len(answer["latencies"])
    return Sample(
        latencies=answer["latencies"],
        seconds=answer["seconds"],
        cpu_ms=answer["cpu_ms"] / calls,
        valkey_cpu_ms=(after[1] - before[1]) / calls,
        trips=answer["trips"] / calls,
        wrong=wrong,
    )


async def _connect(load: Child, variant: Variant, running: Running, clients: int, run: str) -> None:
    await load.ask("connect", port=running.port, clients=clients, run=run, echo=variant.echo, promised=variant.promised)
    await load.ask("warm", calls=WARM_CALLS)


async def _commands(load: Child, variant: Variant, running: Running, calls: int = 200) -> tuple[float, float]:
    """(reads, commands) a call as Valkey counts them, one client at a time."""
    assert running.valkey is not None
    async with watched(running.valkey) as watch:
        await _connect(load, variant, running, 1, uuid.uuid4().hex[:12])
        before = await watch.reads_and_commands()
        answer = await load.ask("go", calls=calls)
        after = await watch.reads_and_commands()
        await load.ask("close")
    _refuse_wrong(variant, answer)
    # One read is the question itself.
    return (after[0] - before[0] - 1) / calls, (after[1] - before[1]) / calls


def _used(running: Running) -> tuple[float, float]:
    return cpu_ms(running.child.pid), cpu_ms(running.valkey) if running.valkey else 0.0


def _refuse_wrong(variant: Variant, answer: dict[str, Any]) -> int:
    """On a busy machine a trip may take longer than its 50 ms, and the answer is then a live one. A few are told in the
    table; more than a few, and what was measured is not what it is called."""
    wrong: int = answer["wrong"]
    if wrong > MOST_WRONG * len(answer["latencies"]):
        raise AssertionError(f"{variant.key}: {wrong} wrong answers, the first: {answer['first_wrong']}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    plan = Plan(asked.seconds, asked.rounds, asked.clients, asked.only, growth=not (asked.only or asked.no_growth))
    results = asyncio.run(measure(plan, lambda line: print(line, file=sys.stderr)))
    text = report.table(results, plan.seconds, plan.rounds)
    return command.told(text, results, asked, "calls.txt")


def _parser() -> argparse.ArgumentParser:
    plan = Plan()
    of = "variant and number of clients"
    parser = command.parser("tests.load.bench", __doc__, seconds=plan.seconds, of=of, rounds=plan.rounds)
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--only", nargs="+", default=(), choices=[variant.key for variant in VARIANTS])
    parser.add_argument("--no-growth", action="store_true", help="leave out the rows on age and number of sessions")
    return parser


if __name__ == "__main__":
    sys.exit(main())
