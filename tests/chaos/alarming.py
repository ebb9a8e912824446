"""Which alarms tell whom when a fault goes on for an hour: `python -m tests.chaos.alarming --write` writes it into report.md.

Each scenario is played for some seconds at the real backends and watched (`recorded.py`). CloudWatch's alarms are then evaluated
over a timeline: days with the healthy scenario's answers, all of them good, an hour in which every minute is as the fault's seconds
were, and half a day of health again. So what was recorded is held over the windows; how quickly a fault builds up is in it, what it would do to a store of
data that runs out after half an hour is not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from infra.alarms.cloudwatch import Deployed, alarms
from tests.chaos import faults, report
from tests.chaos.play import PATIENCE_SECONDS, calm, warm_up
from tests.chaos.recorded import Recording, record
from tests.chaos.scenarios import one
from tests.chaos.world import NAMESPACE, World, opened
from tests.support.cloudwatch import Alarms, Key, Minute, Phase, Timeline

PAGE, TICKET = "page", "ticket"
PREFIX = "chaos"
WHERE = Deployed(PREFIX, NAMESPACE, PAGE, TICKET)
BEFORE = 4 * 24 * 60
FAULT = 60
AFTER = 12 * 60
HALF_AN_HOUR = 30
"""Between two looks once an hour has gone by after the fault."""
SESSIONS = 10
MOST_STALLED = 0.05
"""The share of the time in which a machine may keep the server waiting for its processor. What is late beyond that is the
machine's, and breakers open for it."""


@dataclass(frozen=True, slots=True)
class Played:
    """`backend` is None for what is no backend's. `pages` are the alarms that have to wake somebody, and no others may but
    `perhaps`."""

    name: str
    backend: str | None
    fault: faults.Fault
    pages: frozenset[str] = frozenset()
    perhaps: frozenset[str] = frozenset()

    @asynccontextmanager
    async def on(self, world: World) -> AsyncIterator[None]:
        """The fault lasts until the block ends."""
        await self._turn(world, begin=True)
        try:
            yield
        finally:
            await self._turn(world, begin=False)

    async def _turn(self, world: World, *, begin: bool) -> None:
        if self.backend is not None:
            await (world.begin if begin else world.end)(self.backend, self.fault)
        elif self.name == AUDIT:
            world.fill_audit_disk(full=begin)


def _at(backend: str, fault: faults.Fault, *pages: str, perhaps: Sequence[str] = ()) -> Played:
    return Played(one(backend, fault).name, backend, fault, frozenset(pages), frozenset(perhaps))


HEALTHY, AUDIT = "healthy", "audit disk full"
BURNING = ("MangaUnusableBurn-fast", "MangaUnusableBurn-medium")
PLAYED = (
    Played(HEALTHY, None, faults.NONE),
    # Popular titles for a name that is not among them are a dead end: how often hangs on what customers ask.
    _at("opensearch", faults.REFUSED, "MangaBackendLost-catalog", perhaps=BURNING),
    _at(
        "dynamodb",
        faults.REFUSED,
        "MangaBackendLost-stock",
        "MangaBackendLost-orders",
        "MangaUnusableBurn-fast",
        "MangaUnusableBurn-medium",
    ),
    _at("redis", faults.KILLED, "MangaRedisAway"),
    Played(AUDIT, None, faults.NONE, frozenset({"MangaAuditLost"})),
    _at("opensearch", faults.LATENCY),
    # Words alone find nothing for some of what was meant, and that is a dead end: how often hangs on what customers ask.
    _at("bedrock", faults.REFUSED, perhaps=BURNING[:1]),
)


@dataclass(frozen=True, slots=True)
class Rang:
    """Minutes after the fault's begin at which an alarm began, and after its end at which it was over; None if it was not."""

    began: int
    over: int | None


async def recordings(world: World, seconds: float, played: Sequence[Played] = PLAYED) -> dict[str, Recording]:
    """Plays each and watches; once more what the machine has spoiled, and keeps the better of both."""
    await warm_up(world)
    made: dict[str, Recording] = {}
    for each in played:
        made[each.name] = await _watched(world, seconds, each)
        if made[each.name].stalled > MOST_STALLED:
            again = await _watched(world, seconds, each)
            made[each.name] = min(made[each.name], again, key=lambda one: one.stalled)
    return made


async def _watched(world: World, seconds: float, played: Played) -> Recording:
    await calm(world, PATIENCE_SECONDS)
    async with played.on(world):
        return await record(world, seconds)


def rang(fault: Recording, healthy: Recording) -> dict[str, Rang]:
    """Every alarm that tells somebody, by its name without the prefix."""
    watched, found = Alarms(alarms(WHERE)), dict[str, Rang]()
    telling = watched.telling(PAGE) | watched.telling(TICKET)
    well = _well(healthy)
    timeline = Timeline([Phase(BEFORE, well), Phase(FAULT, {**well, **fault.minute}), Phase(AFTER, well)])
    ended = BEFORE + FAULT
    for minute in (*range(BEFORE - 1, ended + FAULT), *range(ended + FAULT, ended + AFTER, HALF_AN_HOUR)):
        now = {name.removeprefix(f"{PREFIX}-") for name in watched.at(timeline, minute) & telling}
        for name in now - found.keys():
            found[name] = Rang(minute - BEFORE, None)
        for name in found.keys() - now:
            if found[name].over is None:
                found[name] = Rang(found[name].began, minute - ended)
    return found


def _well(healthy: Recording) -> Mapping[Key, Minute]:
    """The rates of its answers, with nothing bad among them: what a machine spoiled for some seconds is not held for days."""
    good = ("AnswersInTime", "AnswersUsable", "CallsUnderWay", "Ready")
    return {key: each if key[0] in good else Minute(0.0, each.count, 0.0, 0.0) for key, each in healthy.minute.items()}


def pages(found: Mapping[str, Rang]) -> set[str]:
    watched = Alarms(alarms(WHERE))
    return {name for name in found if f"{PREFIX}-{name}" in watched.telling(PAGE)}


def table(made: Mapping[str, Recording]) -> str:
    """Returns the section of the report."""
    rows = [_row(name, each, rang(each, made[HEALTHY])) for name, each in made.items()]
    return "\n".join([*HEAD, *rows]) + "\n"


HEAD = (
    "## Which alarms a fault of an hour sets off",
    "",
    "A fault of ten seconds is recorded and held for an hour. Shares are of the answers during the fault. Each alarm has the minutes from",
    "the fault's begin until it fires, and from the fault's end until it is over. *Stalled*: the share of the time in which the machine",
    "kept the server waiting for a processor.",
    "",
    "| fault | answers a minute | stalled | late | of no use | pages | tickets |",
    "| --- | ---: | ---: | ---: | ---: | --- | --- |",
)


def _row(name: str, each: Recording, found: Mapping[str, Rang]) -> str:
    late, useless = (
        _percent(each, *pair) for pair in (("AnswersLate", "AnswersInTime"), ("AnswersUnusable", "AnswersUsable"))
    )
    paging = pages(found)
    told = (
        ", ".join(_said(alarm, found[alarm]) for alarm in sorted(names)) or "–" for names in (paging, found.keys() - paging)
    )
    answers = each.count("AnswersInTime") + each.count("AnswersLate")
    return f"| {name} | {answers:.0f} | {each.stalled:.0%} | {late} | {useless} | {' | '.join(told)} |"


def _percent(each: Recording, bad: str, good: str) -> str:
    return f"{each.count(bad) / (each.count(bad) + each.count(good)):.1%}"


def _said(alarm: str, found: Rang) -> str:
    over = "not over in half a day" if found.over is None else f"over {found.over}"
    return f"{alarm} ({found.began} min, {over})"


async def main(arguments: list[str]) -> int:
    """Plays all of it for ten seconds each. Returns 1 where a page is missing or too many."""
    async with opened(sessions=SESSIONS) as world:
        made = await recordings(world, 10.0)
    print(text := table(made))
    if "--write" in arguments:
        await asyncio.to_thread(report.write_alarms, text)
    return int(any(pages(rang(made[each.name], made[HEALTHY])) - each.perhaps != each.pages for each in PLAYED))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
