"""`python -m tests.load.flips`: how long a flipped flag takes to reach every kind of client of two replicas, in notifications
and in lists, while calls go on; and whether each of a thousand listeners hears of each change that is its own, once."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from server.flags.document import in_share
from tests.load import report
from tests.load.flips_rig import Rig, rig
from tests.support.hearing import all_have_heard

OFF = "get_recommendations"
WITHIN = 10.0
MOST_SECONDS = 1.0
SILENCE_SECONDS = 0.5
"""After the last notification: ten times what a replica waits before it tells."""
PAUSE_SECONDS = 0.5
"""From when everybody has heard to the next flip: clients, servers and callers share the cores."""
SHARE = 50
CROWD = "the crowd"
Say = Callable[[str], None]


@dataclass(slots=True)
class Results:
    """Seconds from a flip, by kind of client; how often each of the crowd was told beyond what it should have been, or less;
    and the calls meanwhile."""

    flips: int
    listeners: int
    told: dict[str, list[float]] = field(default_factory=dict)
    listed: dict[str, list[float]] = field(default_factory=dict)
    wrong_lists: int = 0
    wrong_counts: int = 0
    calls: int = 0
    calls_p99: float = 0.0
    failed_calls: int = 0
    first_failed: str | None = None

    def note(self, kind: str, told: float, listed: float | None = None) -> None:
        self.told.setdefault(kind, []).append(told)
        if listed is not None:
            self.listed.setdefault(kind, []).append(listed)

    def bars(self) -> list[tuple[str, float, float]]:
        """What it is about, what was found, and the most that it may be."""
        return [
            ("slowest notification in s", _most(self.told.values()), MOST_SECONDS),
            ("slowest list in s", _most(self.listed.values()), MOST_SECONDS),
            ("lists that were not the new one", self.wrong_lists, 0),
            ("listeners that were not told once of each change of theirs, or of another's", self.wrong_counts, 0),
            ("failed calls", self.failed_calls, 0),
        ]

    def missed(self) -> list[str]:
        return [about for about, found, most in self.bars() if found > most]


def _most(all_seconds: Iterable[list[float]]) -> float:
    return max((max(seconds) for seconds in all_seconds if seconds), default=float("inf"))


async def measure(
    flips: int, listeners: int, say: Say = lambda _: None, *, typescript: bool = False, every_kind: bool = True
) -> Results:
    results = Results(flips, listeners)
    async with rig(listeners, typescript=typescript, every_kind=every_kind) as own:
        say(f"{listeners} listeners and {len(own.hearers)} clients are connected")
        for number in range(1, flips + 1):
            await _flip(own, results, number)
            await asyncio.sleep(PAUSE_SECONDS)
            if number % 10 == 0:
                say(f"{number} flips")
        await _check_counts(own, results, [flips] * listeners)
        await _flip_for_some(own, results, flips)
        calls = await own.crowd.ask("hang_up")
    latencies = sorted(calls["latencies"])
    results.calls, results.calls_p99 = len(latencies), latencies[int(len(latencies) * 0.99)] if latencies else 0.0
    results.failed_calls, results.first_failed = calls["wrong"], calls["first_wrong"]
    return results


async def _flip(own: Rig, results: Results, number: int) -> None:
    """Off and on in turn; each next one when everybody has the last."""
    off = number % 2 == 1
    before = [len(hearer.news) for hearer in own.hearers]
    began = own.flip(**({OFF: False} if off else {}))
    crowd, _ = await asyncio.gather(
        own.crowd.ask("until", told=number, seconds=WITHIN), all_have_heard(own.hearers, before, WITHIN)
    )
    for hearer in own.hearers:
        news = hearer.news[-1]
        results.note(hearer.kind, news.told - began, news.listed - began)
        results.wrong_lists += (OFF in news.tools) is off
    for last in crowd["last"]:
        results.note(CROWD, last - began)


async def _flip_for_some(own: Rig, results: Results, told: int) -> None:
    """A flag of no tool and a segment in which nobody is concern nobody; a share of half the users half of them, and the
    rest when it becomes the whole."""
    nobody = {"segments": [{"name": "nobody", "conditions": [{"property": "user", "operator": "in", "value": ["nobody"]}]}]}
    await own.flip_and_see(WITHIN, **{OFF: False})
    expected = [told + (told % 2 == 0)] * len(own.users)
    for flags in ({OFF: False, "sell_house": True}, {OFF: nobody}, {OFF: {"percent": 0}}):
        await _check_flip(own, results, flags, expected)
    expected = [each + in_share(OFF, user, SHARE) for each, user in zip(expected, own.users, strict=True)]
    await _check_flip(own, results, {OFF: {"percent": SHARE}}, expected)
    expected = [each + (not in_share(OFF, user, SHARE)) for each, user in zip(expected, own.users, strict=True)]
    await _check_flip(own, results, {OFF: True}, expected)


async def _check_flip(own: Rig, results: Results, flags: dict[str, Any], expected: Sequence[int]) -> None:
    await own.flip_and_see(WITHIN, **flags)
    await _check_counts(own, results, expected)


async def _check_counts(own: Rig, results: Results, expected: Sequence[int]) -> None:
    """Nobody was told less, nor, after a silence, more."""
    await own.crowd.ask("until_each", told=expected, seconds=WITHIN)
    await asyncio.sleep(SILENCE_SECONDS)
    counts = (await own.crowd.ask("counts"))["counts"]
    results.wrong_counts += sum(found != wanted for found, wanted in zip(counts, expected, strict=True))


def table(results: Results) -> str:
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {results.flips} flips, two replicas, {results.listeners} listeners, "
        f"{results.calls} calls meanwhile (p99 {1000 * results.calls_p99:.0f} ms)",
        report.machine(),
        "",
        f"{'ms from the flip to':20}{'notification':>21}{'list':>16}",
        f"{'':20}{'p50':>13}{'max':>8}{'p50':>8}{'max':>8}",
    ]
    for kind, told in sorted(results.told.items()):
        listed = results.listed.get(kind)
        lines.append(f"{kind:20}{_cells(told):>21}{_cells(listed) if listed else '':>16}")
    lines.append("")
    for about, found, most in results.bars():
        lines.append(f"{'met   ' if found <= most else 'MISSED'}  {about}: {found:g} (bar <= {most:g})")
    if results.first_failed:
        lines.append(f"first failed call: {results.first_failed[:300]}")
    return "\n".join(lines) + "\n"


def _cells(seconds: Sequence[float]) -> str:
    return f"{1000 * statistics.median(seconds):8.0f}{1000 * max(seconds):8.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.flips", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--listeners", type=int, default=1000)
    parser.add_argument("--typescript", action="store_true", help="with the TypeScript client, which npm installs")
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    asked = parser.parse_args(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    results = asyncio.run(measure(asked.flips, asked.listeners, say, typescript=asked.typescript))
    print(table(results))
    return 1 if asked.bars and results.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
