"""Generates Prometheus's alerting rules as text: `infra/observability/alerts.yml`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from infra.alarms.alarm import RUNBOOKS, Alarm
from infra.alarms.shares import SHARES
from infra.alarms.slos import BURNS, DAY, HOUR, LEAST_ANSWERS, SERVICE_LEVELS, Burn, ServiceLevel
from infra.alarms.states import STATES

HEAD = """\
# The alarms. Prometheus evaluates these rules; who is called for which severity is Alertmanager's.
# Written from infra/alarms by `make snapshots`; what to do is in infra/RUNBOOKS.md.
groups:
  - name: manga-tools
    rules:
"""
ALARMS: tuple[Alarm, ...] = (*STATES, *SHARES)
NAMES = (*(level.alarm for level in SERVICE_LEVELS), *(alarm.name for alarm in ALARMS))
"""Names of the alarms that Prometheus evaluates; each has its section in the runbooks."""


def alerts() -> str:
    burning = [_burning(level, burn) for level in SERVICE_LEVELS for burn in BURNS]
    return HEAD + "\n".join([*burning, *(_rule(alarm) for alarm in ALARMS)])


def window(minutes: int) -> str:
    """Formats a duration as PromQL does: 5m, 6h, 3d."""
    return next(f"{minutes // size}{unit}" for size, unit in ((DAY, "d"), (HOUR, "h"), (1, "m")) if minutes % size == 0)


def share(level: ServiceLevel, minutes: int) -> str:
    """Returns the PromQL expression for the share of bad answers in the last `minutes`."""
    of = f'manga_service_level_total{{level="{level.name}"'
    return f'sum(rate({of},verdict="bad"}}[{window(minutes)}])) / sum(rate({of}}}[{window(minutes)}]))'


def _burning(level: ServiceLevel, burn: Burn) -> str:
    most = f"{burn.factor:g} * {level.budget:.4g}"
    enough = f'sum(increase(manga_service_level_total{{level="{level.name}"}}[{window(burn.long)}])) >= {LEAST_ANSWERS}'
    both = (f"({share(level, minutes)} > {most})" for minutes in (burn.long, burn.short))
    labels = {"severity": burn.severity, "burn": burn.name}
    summary = f"{level.customers} {burn.factor:g} x as many as an objective of {level.objective:.1%} leaves room for."
    told = {"summary": summary, "do": "Find the cause below it: backends first, then CPU.", "runbook": _section(level.alarm)}
    return _text(level.alarm, " and ".join([*both, f"({enough})"]), 0, labels, told)


def _rule(alarm: Alarm) -> str:
    told = {"summary": alarm.summary, "do": alarm.do, "runbook": alarm.runbook}
    return _text(alarm.name, alarm.expression, alarm.minutes, {"severity": alarm.severity}, told)


def _section(name: str) -> str:
    return f"{RUNBOOKS}#{name.lower()}"


def _text(name: str, expression: str, minutes: int, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return "\n".join(_lines(name, expression, minutes, labels, annotations)) + "\n"


def _lines(
    name: str, expression: str, minutes: int, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Iterator[str]:
    yield f"      - alert: {name}"
    yield "        expr: |"
    yield from (f"          {line}" for line in expression.replace(" and (", "\n  and (").split("\n"))
    if minutes:
        yield f"        for: {minutes}m"
    yield f"        labels: {{{', '.join(f'{key}: {value}' for key, value in labels.items())}}}"
    yield "        annotations:"
    yield from (f"          {key}: {json.dumps(value)}" for key, value in annotations.items())
