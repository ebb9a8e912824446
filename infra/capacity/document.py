"""Generates all of infra/CAPACITY.md; nothing in it is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from infra.capacity import search_units, tasks
from infra.capacity.alternatives import ALTERNATIVES
from infra.capacity.findings import findings
from infra.capacity.inputs import Inputs, Prices, read_prices
from infra.capacity.needs import Month, Need, dollars
from infra.capacity.plots import PLOT
from infra.capacity.traffic import Traffic

VOLUMES = (10_000, 1_000_000, 100_000_000)
REGION, OTHER_REGION = "us-east-1", "ap-northeast-1"
DEV_VOLUME = 10_000
HEAD = """# What it takes, and what it costs

`make capacity` (`python -m infra.capacity`) counts from [what was measured of a call and what is assumed of a
day](capacity/inputs.toml) and [what AWS asks](capacity/prices.toml) to tasks, units and dollars, and writes this page with
its plot. Put your own numbers there. How many calls a task bears is
[simulated](../tests/load/report.md#how-many-tasks-a-shop-needs); `python -m tests.load.consumed` measures what one takes,
[judged conversations](docs/agent.md#what-a-message-costs) what a message takes of the agent's model.

**What is in it.** The tasks of [infra/cdk](cdk/stages.py), what the server asks, the agent's model, and the customers' door.
**What is not.** What leaves AWS, images, support, taxes, discounts. Nothing here ran on AWS: what an OpenSearch unit bears
is from the processor time of one node with a small index: measure that first. Read dollars as right to a factor of two.
"""
FOOT = """## Where the numbers come from

[inputs.toml](capacity/inputs.toml) and [prices.toml](capacity/prices.toml) name them. Prices are of {read}: {confirmed} of
{all} of {region} are on another public page too; look the others up, and those of {other}, before a decision hangs on them.
"""


def months(inputs: Inputs, stage: str, region: str = REGION, volumes: Sequence[int] = VOLUMES) -> list[Month]:
    prices = read_prices(region)
    return [Month(Traffic(messages, inputs), inputs.stages[stage], prices) for messages in volumes]


def document(inputs: Inputs) -> str:
    prod = months(inputs, "prod")
    parts = [HEAD, _needed(prod), f"![Dollars a month by messages a day]({PLOT})\n", _bill(inputs, prod)]
    parts += [_otherwise(prod), findings(inputs, prod), _dev(inputs), _sources(prod[0].prices)]
    return "\n".join(parts)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _head(first: str, volumes: Sequence[int] = VOLUMES) -> str:
    return _row(first, *(f"{volume:,}" for volume in volumes)) + _row(*["---"] * (len(volumes) + 1))


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _needed(prod: Sequence[Month]) -> str:
    def row(name: str, values: Iterator[float]) -> str:
        return _row(name, *map(number, values))

    used = [month.traffic.consumed() for month in prod]
    share = [month.traffic.peak / month.traffic.calls for month in prod]
    a_task = tasks.capacity_per_task(prod[0].stage, prod[0].traffic.inputs)
    at_peak = (
        f"One task bears {a_task:.0f} calls/s with the part of a processor that the server is promised. At the peak:\n\n"
    )
    return (
        "## What a stage `prod` needs\n\n"
        + at_peak
        + _head("messages a day")
        + row("calls/s", (month.traffic.peak for month in prod))
        + row("tasks, so that a zone may go", (max(tasks.by_hour(month.traffic, month.stage)) for month in prod))
        + row("vCPU of them", (max(tasks.by_hour(month.traffic, month.stage)) * month.stage.vcpu for month in prod))
        + row("tasks in the quietest hour", (min(tasks.by_hour(month.traffic, month.stage)) for month in prod))
        + row("tasks of agents", (max(tasks.agents_by_hour(month.traffic, month.stage)) for month in prod))
        + row("OpenSearch requests/s", (each.searches * part for each, part in zip(used, share, strict=True)))
        + row("search OCUs", (max(search_units.by_hour(month.traffic, month.stage)) for month in prod))
        + row("DynamoDB read units/s", (each.rru * part for each, part in zip(used, share, strict=True)))
        + row("DynamoDB write units/s", (each.wru * part for each, part in zip(used, share, strict=True)))
        + row("thousand ECPUs/s", (month.ecpus * part / 1000 for month, part in zip(prod, share, strict=True)))
        + row("GB in the cache", (month.cache_gb for month in prod))
        + row(
            "embeddings a minute",
            (month.traffic.embedded_texts * part * 60 for month, part in zip(prod, share, strict=True)),
        )
        + row("GB of logs a month", (month.log_gb for month in prod))
    )


def _bill(inputs: Inputs, prod: Sequence[Month]) -> str:
    bills = [month() for month in prod]
    lines = ["## Dollars a month\n\nThe command prints what each part needs.\n\n", _head("messages a day")]
    for part, needs in groupby(zip(*bills, strict=True), key=lambda same: same[0].of):
        rows = list(needs)
        sums = [dollars([row[place] for row in rows], prod[0].prices) for place in range(len(prod))]
        lines.append(_row(part, *map(number, sums)))
    totals = [dollars(bill, prod[0].prices) for bill in bills]
    lines.append(_row(f"**in all, {REGION}**", *(f"**{number(each)}**" for each in totals)))
    there = [dollars(month(), month.prices) for month in months(inputs, "prod", OTHER_REGION)]
    lines.append(_row(f"in all, {OTHER_REGION}", *map(number, there)))
    a_thousand = (total / month.traffic.messages / month.days * 1000 for total, month in zip(totals, prod, strict=True))
    lines.append(_row("a thousand messages", *map(number, a_thousand)))
    return "".join(lines)


def _otherwise(prod: Sequence[Month]) -> str:
    lines = ["## What would change it\n\nDollars a month more, or less.\n\n", _head("messages a day")]
    for name, alternative in ALTERNATIVES.items():
        lines.append(_row(name, *(f"{alternative(month):+,.0f}" for month in prod)))
    return "".join(lines)


def _dev(inputs: Inputs) -> str:
    (month,) = months(inputs, "dev", volumes=(DEV_VOLUME,))
    bill = month()
    parts = groupby(bill, key=lambda need: need.of)
    named = ", ".join(f"{part} {number(dollars(list(needs), month.prices))}" for part, needs in parts)
    total = number(dollars(bill, month.prices))
    return f"## A stage `dev`\n\nWith {DEV_VOLUME:,} messages a day {total} dollars a month: {named}.\n"


def _sources(prices: Prices) -> str:
    confirmed = sum(prices.region in price.confirmed for price in prices.of.values())
    return FOOT.format(region=REGION, other=OTHER_REGION, read=prices.read, confirmed=confirmed, all=len(prices.of))


def details(inputs: Inputs) -> str:
    prod = months(inputs, "prod")

    def cell(need: Need) -> str:
        return f"{number(need.quantity)} → {number(need.quantity * prod[0].prices[need.price])}"

    needs = zip(*(month() for month in prod), strict=True)
    return _head("need") + "".join(_row(f"{row[0].of}: {row[0].what}", *map(cell, row)) for row in needs)
