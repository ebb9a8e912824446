"""The report: a summary, each fault's figures in a file of their own, and two plots."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.bars import Measured, Spread
from tests.chaos.catalogue import how_many
from tests.chaos.conversation import TURN_MS
from tests.chaos.leaks import Leaks
from tests.chaos.world import SESSIONS, TTL_SECONDS

FOLDER = Path(__file__).parent
KINDS = ("live", "cache", "stale", "fallback", "partial", "error")
HEAD = """\
# What faults do to answers

Written by `make chaos` and `python -m tests.chaos.alarming --write`; [the tests' page](../README.md#chaos) says how it is measured.
Each fault's figures are in [faults.tsv](faults.tsv): latencies as p50 / p99 / p99.9 / longest in ms; *late* are answers that left the
server over 20 ms after their deadline, *over* those that clients got over 50 ms after their turn's budget; *recovery* is the time in
seconds from the fault's end until every answer was well again.

"""
ALARMS = "<!-- alarms -->\n"
"""Begins what `tests.chaos.alarming` writes."""
COLUMNS = ("fault", "calls", "server", "client", "late", "over", "held up", "usable", "errors", "recovery", "missed")


def write(played: Sequence[Measured], left_out: Sequence[str], leaks: Leaks | None, seconds: float) -> None:
    from tests.support import charts

    rows = [charts.Spread(each.name, (each.client.p50, each.client.p99, each.client.most)) for each in played]
    budget = (float(TURN_MS), "a turn's budget")
    charts.spreads(FOLDER / "latency.svg", rows, ("p50", "p99", "longest"), "ms at the client, of one call", budget)
    charts.mixes(
        FOLDER / "sources.svg", {each.name: each.sources for each in played}, KINDS, "% of answers during the fault"
    )
    _, mark, about_alarms = (FOLDER / "report.md").read_text("utf-8").partition(ALARMS)
    summary = HEAD + "\n".join(_lines(played, left_out, leaks, seconds))
    (FOLDER / "report.md").write_text(f"{summary}\n\n{mark}{about_alarms}", "utf-8")
    table = "".join("\t".join(row) + "\n" for row in (COLUMNS, *map(_row, played)))
    (FOLDER / "faults.tsv").write_text(table, "utf-8")


def write_alarms(section: str) -> None:
    """Puts the section on alarms in place of the last one."""
    before, mark, _ = (FOLDER / "report.md").read_text("utf-8").partition(ALARMS)
    (FOLDER / "report.md").write_text(before + mark + section, "utf-8")


def _lines(played: Sequence[Measured], left_out: Sequence[str], leaks: Leaks | None, seconds: float) -> list[str]:
    missed = sum(1 for each in played if each.missed())
    lost = "; ".join(leaks.missed()) if leaks else ""
    return [
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}; {SESSIONS} sessions, each fault "
        f"for {seconds:g} s, text fresh for {TTL_SECONDS} s; {how_many():,} titles, of which the server keeps 500 by their "
        "popularity; a quarter of the turns ends with details of one that it does not keep.",
        "",
        *summary(played),
        "",
        f"{len(played) - missed} faults met every bar, {missed} missed one (column *missed*)."
        + (f" Cancelled calls: {lost}." if lost else ""),
        "",
        *(f"Not played: {words}" for words in left_out),
        *([f"After {leaks.told()}.", ""] if leaks else []),
        "![how long calls took, per fault, against the budget](latency.svg)",
        "",
        "![where answers came from, per fault](sources.svg)",
    ]


def summary(played: Sequence[Measured]) -> list[str]:
    """Everything together, which is enough for a p99.9 that means something."""
    waits = Spread.of(wait / 1000 for each in played for wait in each.waits)
    errors: Counter[str] = Counter()
    for each in played:
        errors.update(each.errors)
    calls, over = sum(each.calls for each in played), sum(each.over for each in played)
    named = ", ".join(f"{count} {name}" for name, count in errors.most_common()) or "none"
    return [
        f"{len(played)} faults, {calls:,} calls: {_spread(waits)} ms at the client; {over} over the budget "
        f"({1 - over / max(1, calls):.3%} inside), {sum(each.late for each in played)} late at the server, "
        f"{sum(len(each.unstructured) for each in played)} unstructured errors; "
        f"the machine held processes up for {sum(each.held for each in played) / max(1, len(played)):.0%} of the time; longest recovery "
        f"{max((each.recovery for each in played), default=0):.1f} s.",
        f"Structured errors by name: {named}.",
    ]


def _row(each: Measured) -> tuple[str, ...]:
    errors = ", ".join(f"{count} {name}" for name, count in sorted(each.errors.items())) or "–"
    return (
        each.name,
        str(each.calls),
        _spread(each.server),
        _spread(each.client),
        str(each.late),
        str(each.over),
        f"{each.held:.0%}",
        f"{each.usable:.1%}",
        errors,
        f"{each.recovery:.1f}",
        "; ".join(each.missed()) or "–",
    )


def _spread(of: Spread) -> str:
    return f"{of.p50:.0f} / {of.p99:.0f} / {of.p999:.0f} / {of.most:.0f}"
