"""What a scenario looks like to those who watch: EMF lines of the server's log, and scrapes of its /metrics."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from server.telemetry.service_levels import NUMBERS
from tests.chaos.heartbeat import Held
from tests.chaos.world import World
from tests.support.cloudwatch import Key, Minute

GROWN = {number.name for number in NUMBERS if number.kind == "growth"}
Series = tuple[str, tuple[tuple[str, str], ...]]
Scrape = Mapping[Series, float]


@dataclass(frozen=True, slots=True)
class Recording:
    """`minute` is what a minute of it holds for CloudWatch: counts at their recorded rate, states as they were. `first` and
    `last` are scrapes, `seconds` apart; `stalled` is the share of them in which the machine kept the server waiting."""

    minute: Mapping[Key, Minute]
    first: Scrape
    last: Scrape
    seconds: float
    stalled: float

    def count(self, name: str) -> float:
        """How many there were in a minute."""
        return self.minute[name, None].sum


async def record(world: World, seconds: float) -> Recording:
    """Watches for so long."""
    seen = len(world.samples.read)
    first, since, began = await scraped(world), time.time(), time.monotonic()
    await asyncio.sleep(seconds)  # as long as what is watched is to last
    last, until, ended = await scraped(world), time.time(), time.monotonic()
    minute = per_minute(await asyncio.to_thread(world.log.read_text), since, until)
    world.samples.catch_up()
    stalled = Held.of(world.samples.of("held", seen)).share(began, ended)
    return Recording(minute, first, last, ended - began, stalled)


async def scraped(world: World) -> Scrape:
    text = await asyncio.to_thread(_metrics, f"{world.url}/metrics")
    families = text_string_to_metric_families(text)
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples}


def _metrics(url: str) -> str:
    with urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def per_minute(log: str, since: float, until: float) -> dict[Key, Minute]:
    """Reads the log as CloudWatch does: a line that is an object with `_aws` is metrics, whatever else is in between."""
    values: dict[Key, list[float]] = defaultdict(list)
    for line in log.splitlines():
        if not line.startswith('{"_aws"'):
            continue
        told = json.loads(line)
        if not since <= told["_aws"]["Timestamp"] / 1000 < until:
            continue
        (directive,) = told["_aws"]["CloudWatchMetrics"]
        (dimensions,) = directive["Dimensions"]
        for metric in directive["Metrics"]:
            value = told[metric["Name"]]
            key = metric["Name"], next((told[each] for each in dimensions), None)
            values[key] += value if isinstance(value, list) else [value]
    scale = 60 / (until - since)
    return {key: _minute(key[0], numbers, scale) for key, numbers in values.items()}


def _minute(name: str, values: list[float], scale: float) -> Minute:
    total = sum(values) * scale if name in GROWN else sum(values)
    return Minute(total, len(values) * scale, min(values), max(values))
