"""Writes the section of CAPACITY.md that states the findings, in sentences with computed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from infra.capacity import alternatives, tasks
from infra.capacity.inputs import Inputs
from infra.capacity.needs import Month, dollars
from infra.capacity.traffic import HOUR, Traffic


def findings(inputs: Inputs, prod: Sequence[Month]) -> str:
    told = (_dominates(prod), _a_message(prod), _most(inputs, prod[-1]), _throttled(prod), _standby(prod), _cache(prod))
    return "## What follows\n\n" + "".join(f"- {sentence}\n" for sentence in (*told, _kept(prod)))


def _dominates(prod: Sequence[Month]) -> str:
    said = []
    for month in prod:
        bill = month()
        total = dollars(bill, month.prices)
        parts = {part: dollars(list(needs), month.prices) for part, needs in groupby(bill, key=lambda need: need.of)}
        first, second, *_ = sorted(parts, key=parts.__getitem__, reverse=True)
        shares = f"{first} {parts[first] / total:.0%}, {second} {parts[second] / total:.0%}"
        said.append(f"at {month.traffic.messages:,} {shares}")
    return f"**What dominates**: {'; '.join(said)}."


def _a_message(prod: Sequence[Month]) -> str:
    """States the marginal cost of a message, from the two larger volumes, whose fixed costs cancel out."""
    few, many = prod[-2:]
    more = dollars(many(), many.prices) - dollars(few(), few.prices)
    each = more / (many.traffic.messages - few.traffic.messages) / many.days
    return f"**What one more message costs**: ${each * 1000:.3f} a thousand, beyond what stands anyway."


def _most(inputs: Inputs, month: Month) -> str:
    stage = month.stage
    left = stage.most_tasks * (stage.zones - 1) / stage.zones * tasks.capacity_per_task(stage, inputs)
    messages = month.traffic.messages * left / month.traffic.peak
    needs = max(tasks.by_hour(month.traffic, stage))
    turns = stage.most_agents * (stage.zones - 1) / stage.zones * tasks.turns_of_an_agent(stage, inputs)
    answered = month.traffic.messages * turns / (month.traffic.peak / month.traffic.calls_a_message)
    return (
        f"**How far `prod` goes as it is**: its {stage.most_tasks} tasks bear the busiest hour of {messages / 1e6:.0f}"
        f" million messages a day with a zone less; {month.traffic.messages:,} ask for `scaling.most` of {needs}."
        f" Its {stage.most_agents} tasks of agents bear that of {answered / 1e6:.0f} million."
    )


def _throttled(prod: Sequence[Month]) -> str:
    month = prod[-1]
    share = month.traffic.peak / month.traffic.calls
    minute = month.embeddings * share * 60
    most = month.traffic.inputs["embedding"]["most_a_minute"]
    messages = month.traffic.messages * most / minute
    return (
        f"**Bedrock's quota comes before its price**: {most:,} embeddings a minute are used up by the busiest"
        f" hour of {messages / 1e6:.1f} million messages a day; beyond it the quota is raised, or `MANGA_EMBEDDER=local`."
    )


def _standby(prod: Sequence[Month]) -> str:
    month = prod[0]
    a_task = alternatives.standby_in_each_task(month) / month.task_hours * month.prices.hours_a_month
    unit = month.prices["ocu_hour"] * month.prices.hours_a_month
    return (
        f"**When the standby pays**: it costs ${a_task:.2f} a month and task where its memory is bought for it, and nothing"
        f" where the task has it to spare; one more search OCU costs ${unit:.0f}, as much as a standby in"
        f" {unit / a_task:.0f} tasks."
    )


def _cache(prod: Sequence[Month]) -> str:
    said = ", ".join(f"{alternatives.nothing_cached(month):+,.0f} at {month.traffic.messages:,}" for month in prod)
    return f"**When the cache of answers pays**: without it a month costs {said} dollars; its data is paid all the same."


def _kept(prod: Sequence[Month]) -> str:
    month = prod[-1]
    each = Traffic(1, month.traffic.inputs).live("search") * month.traffic.inputs["cache"]["kept_bytes"]
    whole = month.traffic.messages * each / 1e9
    seconds = month.stage.most_cache_gb / whole * 24 * HOUR
    return (
        f"**The cache's limit**: at {month.traffic.messages:,} messages a day's new searches are {whole:.0f} GB; within"
        f" {month.stage.most_cache_gb:.0f} GB they are kept for {seconds / HOUR:.1f} hours, and the oldest go."
    )
