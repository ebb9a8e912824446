"""The whole suite: `python -m tests.chaos.run [WORD ...] [--seconds N] [--write] [--no-leaks]`, about 20 minutes.

WORDs choose the scenarios whose name has all of them ("redis", "bedrock slow"). Exits with 1 when a bar was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tests.chaos import backends, report
from tests.chaos.bars import Measured
from tests.chaos.leaks import Leaks, look_for_leaks
from tests.chaos.play import play, warm_up
from tests.chaos.scenarios import Scenario, chosen
from tests.chaos.world import World, opened
from tests.stack.artefacts import StackError

SECONDS = 6.0


async def run(asked: argparse.Namespace) -> int:
    scenarios = chosen(asked.words)
    played: list[Measured] = []
    left_out: list[str] = []
    leaks: Leaks | None = None
    async with opened() as world:
        await warm_up(world)
        await _play_all(world, [each for each in scenarios if not each.clock], asked.seconds, played)
        if stepping := [each for each in scenarios if each.clock]:
            try:
                async with with_a_clock(world):
                    await _play_all(world, stepping, asked.seconds, played)
            except StackError as error:
                left_out.append(f"Redis's clock: {error}")
        await world.clients.ask("stop", "stopped")
        if not asked.no_leaks:
            leaks = await look_for_leaks(world)
            print(leaks.told(), flush=True)
    print("\n".join([*report.summary(played), *left_out]))
    if asked.write:
        report.write(played, left_out, leaks, asked.seconds)
    missed = [each for each in played if each.missed()]
    return 1 if missed or (leaks is not None and leaks.missed()) else 0


async def _play_all(world: World, scenarios: Sequence[Scenario], seconds: float, played: list[Measured]) -> None:
    for scenario in scenarios:
        measured = await _played(world, scenario, seconds)
        played.append(measured)


async def _played(world: World, scenario: Scenario, seconds: float) -> Measured:
    began = time.monotonic()
    measured = await play(world, scenario, seconds)
    missed = measured.missed()
    print(
        f"{'MISSED' if missed else 'ok':6} {scenario.name:45} {measured.calls:5} calls, client p99 {measured.client.p99:5.0f}, "
        f"longest {measured.client.most:5.0f} ms, held up {measured.held:4.0%}, usable {measured.usable:6.1%}, "
        f"recovery {measured.recovery:4.1f} s, {time.monotonic() - began:3.0f} s",
        *(f"       {words}" for words in (*missed, *measured.offenders[:5])),
        sep="\n",
        flush=True,
    )
    return measured


@asynccontextmanager
async def with_a_clock(world: World) -> AsyncIterator[None]:
    """Another Redis in the place of the one before: for the server it has come back empty."""
    with backends.with_a_clock() as redis:
        before, proxy = world.backends["redis"], world.proxies["redis"]
        world.backends["redis"] = redis
        await proxy.lead_to(redis.port)
        try:
            yield
        finally:
            world.backends["redis"] = before
            await proxy.lead_to(before.port)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only scenarios whose name has every WORD")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each fault lasts (default: %(default)g)")
    parser.add_argument("--write", action="store_true", help="write tests/chaos/report.md, its figures and its plots")
    parser.add_argument("--no-leaks", action="store_true", help="without the thousand cancelled calls")
    asked = parser.parse_args(arguments)
    if problem := backends.missing():
        print(f"the real servers cannot be had: {problem}", file=sys.stderr)
        return 2
    if (clockless := backends.no_clock()) and any(each.clock for each in chosen(asked.words)):
        print(f"left out, and the rest is played: Redis's clock, because {clockless}", file=sys.stderr)
    return asyncio.run(run(asked))


if __name__ == "__main__":
    sys.exit(main())
