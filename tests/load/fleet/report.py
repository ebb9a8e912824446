"""The report, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.load.fleet.inputs import Inputs
from tests.load.fleet.planning import VOLUMES, Capacity, Fleet, Row
from tests.load.fleet.plots import DAY, SITUATIONS, VALIDATION
from tests.load.fleet.validation import WITHIN, Compared

HEAD = """## How many tasks a shop needs

`make fleet` (`python -m tests.load.fleet`) simulates turns over a fleet of tasks, event by event: when they come, the event loop
and the worker thread of each task, its queue, its limit of calls and its breakers, and the backends that a call asks, with what
was measured of each. The same [inputs](fleet/inputs.toml) give the same report; every situation is in
[fleet.txt](figures/fleet.txt).

**Left out.** Backends have the latencies that were measured of one that had room; how many OpenSearch nodes or Redis
shards give that is not asked here. A breaker that has opened stays open. Tasks start and stop in no time. A message is a turn of
three calls on the task beside its agent. Of more than nine tasks nine are simulated with their share, and counts are scaled.
"""
VALIDATED = """**Beside real runs** {met} of {all} simulated figures are within {within:.0%}; of those that no other work disturbed, {calm_met} of
{calm}. Seven numbers were fitted to these same runs. Read the result as right to a factor of two.
"""
COMPARED = """Beside real runs: each figure is the median of five simulated runs.

| calls/s | figure | measured | simulated | off | |
| --- | --- | --- | --- | --- | --- |
"""
PLANNED = """One task bears {whole:.0f} calls/s within the bars (p99 {p99:g} ms, {refused:.1%} refused), {redis:.0f} without Redis, where all
is live, and {opensearch:.0f} without OpenSearch, where the fallback answers. *Kept* is what is there in the busiest hour: enough if
a zone or OpenSearch goes. Each number is a multiple of {zones}, one for each zone.

| messages a day | calls/s, busiest hour | busiest hour | a zone gone | OpenSearch gone | **kept** | Redis gone | flash sale (×{times:g}) |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
HAPPENS = """The busiest hour, in which something goes after a third of the run. *Lost* are calls whose task has gone, *refused* those that
were told SERVER_BUSY; *degraded* are answers that had to do without something. Percentiles are of calls that began after it.

| messages a day | situation | calls/s | tasks | p50 (ms) | p99 (ms) | longest (ms) | calls | lost | refused | degraded | processor |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def report(inputs: Inputs, found: Sequence[Compared], bears: Capacity, fleets: Sequence[Fleet]) -> str:
    """Returns the section of tests/load/report.md."""
    parts = [HEAD, _planned(inputs, bears, fleets), f"![Tasks by hour]({DAY})\n"]
    parts += [f"![p50 to p99 of every situation]({SITUATIONS})\n", _validated(found)]
    return "\n".join([*parts, f"![Measured and simulated]({VALIDATION})"])


def details(inputs: Inputs, found: Sequence[Compared], rows: Mapping[int, Sequence[Row]]) -> str:
    """Returns every situation, every comparison and where the inputs come from, for tests/load/figures/fleet.txt."""
    sources = "".join(f"- `{name}`: {source}\n" for name, source in inputs.sources.items())
    return f"{_happens(rows)}\n{COMPARED}{''.join(map(_compared, found))}\nWhere the inputs come from:\n\n{sources}"


def _validated(found: Sequence[Compared]) -> str:
    calm = [each for each in found if not each.disturbed]
    return VALIDATED.format(
        within=WITHIN,
        met=sum(each.met for each in found),
        all=len(found),
        calm_met=sum(each.met for each in calm),
        calm=len(calm),
    )


def _compared(each: Compared) -> str:
    word = "met" if each.met else "**missed**"
    beside = ", others worked beside it" if each.disturbed else ""
    return (
        f"| {each.calls:g} | {each.what} | {each.measured:.3g} | {each.simulated:.3g} | {each.off:+.0%} | {word}{beside} |\n"
    )


def _planned(inputs: Inputs, bears: Capacity, fleets: Sequence[Fleet]) -> str:
    head = PLANNED.format(
        whole=bears.whole,
        redis=bears.without_redis,
        opensearch=bears.without_opensearch,
        p99=inputs.plan["p99_ms"],
        refused=inputs.plan["refused"],
        zones=inputs.plan["zones"],
        times=inputs.day["flash_sale_times"],
    )
    lines = (
        f"| {each.messages:,} | {each.peak_calls:,.1f} | {each.busiest} | {each.zone} | {each.opensearch} | **{each.kept}** "
        f"| {each.redis} | {each.sale} |\n"
        for each in fleets
    )
    return head + "".join(lines)


def _happens(rows: Mapping[int, Sequence[Row]]) -> str:
    return HAPPENS + "".join(_row(row) for messages in VOLUMES for row in rows[messages])


def _row(row: Row) -> str:
    told = row.outcome
    return (
        f"| {row.messages:,} | {row.situation} | {row.calls:,.1f} | {row.tasks} | {told.ms(0.5):.0f} | {told.ms(0.99):.0f} "
        f"| {told.ms(1):.0f} | {told.begun:,} | {told.lost:,} | {told.refused / max(1, told.begun):.1%} "
        f"| {told.degraded / max(1, told.begun):.1%} | {told.busy:.0%} |\n"
    )
