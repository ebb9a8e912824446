"""CloudWatch's alarms, evaluated here: periods and statistics, M of N datapoints, missing data, the part of metric math that
the alarms use, and composite rules.

After "Using Amazon CloudWatch alarms" and "Configuring how CloudWatch alarms treat missing data" of its user guide: an alarm
looks at its last N periods; where some are missing it takes older ones from a few periods more, and only if these do not suffice
are the missing ones filled as the alarm says. A minute that is not over yet is not looked at.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MORE_PERIODS = 2
"""How many periods beyond the last N are looked at for what is missing among them."""
OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
}
Key = tuple[str, str | None]
"""A metric's name, and the value of its one dimension."""


@dataclass(frozen=True, slots=True)
class Minute:
    """What one minute holds of a metric."""

    sum: float
    count: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Phase:
    """So many minutes that are all alike. A metric that is not named is missing."""

    minutes: int
    holds: Mapping[Key, Minute]


@dataclass(frozen=True, slots=True)
class Timeline:
    phases: Sequence[Phase]

    def statistic(self, key: Key, name: str, start: int, end: int) -> float | None:
        """Of the minutes from `start` to before `end`; None where nothing was told."""
        parts: list[tuple[int, Minute]] = []
        began = 0
        for phase in self.phases:
            shared = min(end, began + phase.minutes) - max(start, began)
            if shared > 0 and key in phase.holds:
                parts.append((shared, phase.holds[key]))
            began += phase.minutes
        return STATISTICS[name](parts) if parts else None


STATISTICS: Mapping[str, Callable[[list[tuple[int, Minute]]], float]] = {
    "Sum": lambda parts: sum(minutes * each.sum for minutes, each in parts),
    "SampleCount": lambda parts: sum(minutes * each.count for minutes, each in parts),
    "Maximum": lambda parts: max(each.most for _, each in parts),
    "Minimum": lambda parts: min(each.least for _, each in parts),
}


@dataclass(slots=True)
class Alarms:
    """Resources of a template by their logical ids. `at` tells which are in alarm at a minute, by name."""

    resources: Mapping[str, Mapping[str, Any]]

    def at(self, timeline: Timeline, minute: int) -> set[str]:
        metric = self._of("AWS::CloudWatch::Alarm")
        fired = {each["AlarmName"] for each in metric if in_alarm(each, timeline, minute)}
        composed = self._of("AWS::CloudWatch::CompositeAlarm")
        return fired | {each["AlarmName"] for each in composed if _composed(each["AlarmRule"], fired)}

    def telling(self, topic: str) -> set[str]:
        """Names of those that tell it."""
        every = (*self._of("AWS::CloudWatch::Alarm"), *self._of("AWS::CloudWatch::CompositeAlarm"))
        return {each["AlarmName"] for each in every if topic in each.get("AlarmActions", ())}

    def _of(self, kind: str) -> list[Mapping[str, Any]]:
        return [each["Properties"] for each in self.resources.values() if each["Type"] == kind]


def in_alarm(alarm: Mapping[str, Any], timeline: Timeline, minute: int) -> bool:
    periods, needed = alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]
    length = _period(alarm) // 60
    ends = [minute - length * back for back in range(periods + MORE_PERIODS)]
    points = [_value(alarm, timeline, end - length, end) for end in ends if end - length >= 0]
    there = [point for point in points if point is not None]
    looked_at = points[:periods] if len(there) < periods or None not in points[:periods] else there[:periods]
    return sum(_breaches(alarm, point) for point in looked_at) >= needed


def _breaches(alarm: Mapping[str, Any], point: float | None) -> bool:
    if point is None:
        assert alarm["TreatMissingData"] in ("breaching", "notBreaching"), (
            "what depends on the state before is not done here"
        )
        return bool(alarm["TreatMissingData"] == "breaching")
    threshold: float = alarm["Threshold"]
    match alarm["ComparisonOperator"]:
        case "GreaterThanThreshold":
            return point > threshold
        case "LessThanThreshold":
            return point < threshold
        case other:
            raise NotImplementedError(other)


def _period(alarm: Mapping[str, Any]) -> int:
    """In seconds; all metrics of an expression have the same."""
    if "Metrics" not in alarm:
        return int(alarm["Period"])
    (period,) = {each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each}
    return int(period)


def _value(alarm: Mapping[str, Any], timeline: Timeline, start: int, end: int) -> float | None:
    if "Metrics" not in alarm:
        return timeline.statistic(_key(alarm), alarm["Statistic"], start, end)
    stats = {each["Id"]: each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each}
    values = {name: timeline.statistic(_key(each["Metric"]), each["Stat"], start, end) for name, each in stats.items()}
    (expression,) = (each["Expression"] for each in alarm["Metrics"] if "Expression" in each)
    known = {name: value for name, value in values.items() if value is not None}
    filled = set(re.findall(r"FILL\((\w+),", expression))
    return calculated(expression, known) if known and values.keys() - known.keys() <= filled else None


def _key(metric: Mapping[str, Any]) -> Key:
    return metric["MetricName"], next((each["Value"] for each in metric["Dimensions"]), None)


def calculated(expression: str, values: Mapping[str, float]) -> float | None:
    """Metric math over one datapoint of each; None where CloudWatch has no datapoint, as for a division by nought."""
    try:
        return _calculated(ast.parse(expression, mode="eval").body, values)
    except ZeroDivisionError:
        return None


def _calculated(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=float(number) | int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return float(OPERATORS[type(op)](_calculated(left, values), _calculated(right, values)))
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            return _calculated(then if _calculated(condition, values) else otherwise, values)
        case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name(id=name), ast.Constant(value=float(number) | int(number))]):
            return values.get(name, number)
    raise NotImplementedError(ast.dump(node))


def _composed(rule: str, fired: set[str]) -> bool:
    names = re.findall(r'ALARM\("([^"]+)"\)', rule)
    assert rule == " AND ".join(f'ALARM("{name}")' for name in names), rule
    return fired.issuperset(names)
