"""`make bench-stack`: turns of three calls in production mode, on real OpenSearch, DynamoDB and Redis.

Every kind of turn is measured in every round, in turn, so that whatever else the machine does hits all of them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.load import command, stack_report
from tests.load.children import Child, python
from tests.load.collector import Collected, forget_longest
from tests.load.procfs import cpu_ms, rss_mb
from tests.load.stack_results import Load, Memory, Results, Sample, Trips
from tests.load.stack_servers import ALIVE, Backends, RedisWatch, Server, backends, server, tapped
from tests.load.stack_turns import CACHED, CALLS, NEW, UNCACHED
from tests.stack.artefacts import StackError

KINDS = (CACHED, NEW, UNCACHED)
CUSTOMERS = 3000
"""Enough that none comes near 10 calls a second, so that the limits stay on."""
FILLERS = 20
LONG = 600.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    seconds: float = 5.0
    rounds: int = 2
    loads: Sequence[Load] = (Load(1), Load(20, 1.0), Load(20))
    counted_turns: int = 60
    streams: int = 200
    turns_a_stream: int = 3
    sessions: int = 10_000

    @classmethod
    def short(cls) -> Plan:
        """Whether all of it works; the figures say little."""
        return cls(
            seconds=0.5,
            rounds=1,
            loads=(Load(1), Load(4, 0.2)),
            counted_turns=6,
            streams=20,
            turns_a_stream=1,
            sessions=200,
        )


async def measure(plan: Plan, say: Say = lambda _: None) -> Results:
    """Starts everything, measures it, ends everything. Raises `StackError`."""
    results = Results()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-bench-")))
        say("starting the backends and loading the catalogue")
        there = await stack.enter_async_context(backends(folder))
        load = await stack.enter_async_context(python(folder, "tests.load.stack_turns", worker=True))
        redis = await stack.enter_async_context(RedisWatch.of(there.redis))
        delivered = await stack.enter_async_context(server(folder, there))
        results.memory = await _memory(plan, load, delivered, redis, say)
        forgetful = await stack.enter_async_context(server(folder, there, nothing_kept=True))
        servers = {CACHED: delivered, NEW: delivered, UNCACHED: forgetful}
        for number in range(plan.rounds):
            for much in plan.loads:
                for kind in KINDS:
                    sample = results.samples.setdefault((kind, much), Sample())
                    await _timed(sample, plan.seconds, load, servers[kind], kind, much)
                    say(f"round {number + 1}, {much}, {kind}: {sample.calls} calls so far")
        results.end_mb = {"as delivered": rss_mb(delivered.child.pid), "keeping nothing": rss_mb(forgetful.child.pid)}
        results.trips = await _counted(plan, folder, load, there, say)
    return results


async def _timed(sample: Sample, seconds: float, load: Child, server: Server, kind: str, much: Load) -> None:
    await _connect(load, server, kind, much.clients)
    before, collected = cpu_ms(server.child.pid), forget_longest(server.collector)
    answer = await load.ask("go", seconds=seconds, thinking=much.thinking, within=LONG)
    sample.add(answer, cpu_ms(server.child.pid) - before, Collected.read(server.collector).since(collected))
    await load.ask("close")


async def _connect(
    load: Child, server: Server, kind: str, clients: int, customers: int = CUSTOMERS, *, warm: bool = True
) -> None:
    run = uuid.uuid4().hex[:8]
    await load.ask("connect", port=server.port, kind=kind, clients=clients, run=run, customers=customers)
    if warm:
        await load.ask("warm", within=LONG)


async def _memory(plan: Plan, load: Child, server: Server, redis: RedisWatch, say: Say) -> Memory:
    """On a server that has done nothing yet."""
    say(f"memory: {plan.streams} streams, {plan.sessions} sessions")
    pid, memory = server.child.pid, Memory(plan.streams, plan.sessions)
    memory.ready_mb = rss_mb(pid)
    # What every server needs once it is used is not the streams'.
    await _connect(load, server, NEW, 1)
    memory.used_mb = rss_mb(pid)
    await _connect(load, server, NEW, plan.streams, warm=False)
    memory.open_mb = rss_mb(pid)
    for _ in range(plan.turns_a_stream):
        answer = await load.ask("a_turn_each", within=LONG)
    memory.called_mb, memory.peak_mb = rss_mb(pid), _peak_mb(pid)
    memory.wrong, memory.first_wrong = answer["wrong"], answer["first_wrong"]
    await load.ask("close")
    await _fill(plan, load, server, redis, memory)
    return memory


async def _fill(plan: Plan, load: Child, server: Server, redis: RedisWatch, memory: Memory) -> None:
    await redis.forget_everything()
    await _connect(load, server, CACHED, FILLERS, 10 * plan.sessions)  # so that nobody comes twice
    used, memory.before_sessions_mb = await redis.used_memory(), rss_mb(server.child.pid)
    answer = await load.ask("go", turns=plan.sessions // FILLERS, within=LONG)
    memory.redis_bytes = await redis.used_memory() - used
    memory.after_sessions_mb = rss_mb(server.child.pid)
    memory.wrong += answer["wrong"]
    memory.first_wrong = memory.first_wrong or answer["first_wrong"]
    await load.ask("close")


def _peak_mb(pid: int) -> float:
    """The most that ever was resident (proc(5), VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


async def _counted(plan: Plan, folder: Path, load: Child, there: Backends, say: Say) -> Mapping[tuple[str, str], Trips]:
    """By servers of their own, whose backends are behind pass-throughs; these cost time, so nothing else is measured there."""
    found = {}
    async with tapped(folder, there) as (through, taps):
        for nothing_kept, kinds in ((False, (CACHED, NEW)), (True, (UNCACHED,))):
            async with server(folder, through, nothing_kept=nothing_kept) as counted:
                for kind in kinds:
                    say(f"counting round trips: {kind}")
                    found |= await _counted_turns(plan.counted_turns, load, counted, taps, kind)
    return found


async def _counted_turns(turns: int, load: Child, server: Server, taps: Child, kind: str) -> dict[tuple[str, str], Trips]:
    await _connect(load, server, kind, 1)
    await taps.ask("forget")
    answer = await load.ask("go", turns=turns, within=LONG)
    await load.ask("close")
    trips, (calls,) = await taps.ask("trips"), answer["calls"]
    trips.pop(ALIVE, None)
    return {(kind, call): Trips.of(calls[at :: len(CALLS)], trips) for at, call in enumerate(CALLS)}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    plan = Plan.short() if asked.short else Plan(asked.seconds, asked.rounds)
    try:
        results = asyncio.run(measure(plan, lambda line: print(line, file=sys.stderr)))
    except StackError as error:
        print(f"bench-stack: {error}", file=sys.stderr)
        return 2
    text = stack_report.table(results, plan.seconds, plan.rounds)
    return command.told(text, results, asked, "stack.txt")


def _parser() -> argparse.ArgumentParser:
    plan = Plan()
    of = "kind of turn and number of clients"
    parser = command.parser("tests.load.stack", __doc__, seconds=plan.seconds, of=of, rounds=plan.rounds)
    parser.add_argument("--short", action="store_true", help="does it still run: a few turns of everything")
    return parser


if __name__ == "__main__":
    sys.exit(main())
