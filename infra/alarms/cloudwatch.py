"""CloudFormation resources of the CloudWatch alarms, by logical id, that any deployment can add unchanged. A CloudWatch
alarm has a single period. A burn rate with a long and a short window is therefore two alarms without actions, and a
composite alarm of both that notifies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.alarms.alarm import RUNBOOKS, Alarm, Formula, Part, Share, Watch
from infra.alarms.rules import ALARMS, window
from infra.alarms.slos import BURNS, DAY, LEAST_ANSWERS, LEAST_BAD, PAGE, SERVICE_LEVELS, Burn, ServiceLevel

MINUTE = 60
Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Deployed:
    """Values of a deployment. `prefix`: start of alarm names. `namespace`: that of the server's metrics (MANGA_EMF). `page`,
    `ticket`: SNS topics to notify, as ARNs or template references. `repository`: URL before the runbooks' path."""

    prefix: str
    namespace: str
    page: Any
    ticket: Any
    repository: str = ""


def alarms(where: Deployed) -> dict[str, Resource]:
    """Returns the alarms on the server's own metrics, by logical id."""
    burning = (each for level in SERVICE_LEVELS for burn in BURNS for each in _burning(where, level, burn))
    states = (each for alarm in ALARMS if isinstance(alarm.watch, Watch) for each in _state(where, alarm, alarm.watch))
    shares = (_share(where, alarm, alarm.watch) for alarm in ALARMS if isinstance(alarm.watch, Share))
    formulas = (_formula(where, alarm, alarm.watch) for alarm in ALARMS if isinstance(alarm.watch, Formula))
    return {_logical(each["Properties"]["AlarmName"], where): each for each in (*burning, *states, *shares, *formulas)}


def rollback_names(where: Deployed) -> tuple[str, ...]:
    """Returns the names of the alarms that roll a deployment back: fast burn rates over five minutes, and a service that is
    not ready. A failed backend is excluded, since the previous version would fail too."""
    short = (_half_name(where, level, burn, burn.short) for level in SERVICE_LEVELS for burn in BURNS[:1])
    return (*short, f"{where.prefix}-MangaNotReady")


def silent_rollback_alarms(where: Deployed) -> dict[str, Resource]:
    """Returns rollback alarms that notify nobody, by logical id, for deployments of other parts, such as flags."""
    short = rollback_names(where)[:-1]
    return {name: each for name, each in alarms(where).items() if each["Properties"]["AlarmName"] in short}


def describe(summary: str, do: str, name: str, where: Deployed) -> str:
    base = f"{where.repository.rstrip('/')}/" if where.repository else ""
    return " ".join(filter(None, (summary, do, f"{base}{RUNBOOKS}#{name.lower()}")))


def _burning(where: Deployed, level: ServiceLevel, burn: Burn) -> Iterator[Resource]:
    halves = [_half(where, level, burn, minutes) for minutes in (burn.long, burn.short)]
    yield from halves
    names = [half["Properties"]["AlarmName"] for half in halves]
    summary = f"{level.customers} Burning {burn.factor:g} x the budget of {level.objective:.1%}."
    yield {
        "Type": "AWS::CloudWatch::CompositeAlarm",
        "DependsOn": [_logical(name, where) for name in names],
        "Properties": {
            "AlarmName": f"{where.prefix}-{level.alarm}-{burn.name}",
            "AlarmDescription": describe(summary, "Find the cause below it: backends first, then CPU.", level.alarm, where),
            "AlarmRule": " AND ".join(f'ALARM("{name}")' for name in names),
            **told(where, burn.severity),
        },
    }


def _half(where: Deployed, level: ServiceLevel, burn: Burn, minutes: int) -> Resource:
    long = minutes == burn.long
    days = burn.days if long else 1
    enough = f"bad + good >= {LEAST_ANSWERS // days}" if long else f"bad >= {LEAST_BAD}"
    part = f"The half of {level.alarm} ({burn.name}) that looks at {window(minutes)}."
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": _half_name(where, level, burn, minutes),
            "AlarmDescription": describe(part, "It tells nobody by itself.", level.alarm, where),
            "Metrics": [
                _sum("bad", where, level.bad, minutes // days),
                _sum("good", where, level.good, minutes // days),
                {"Id": "share", "Expression": f"IF({enough}, bad / (bad + good), 0)", "Label": "share of bad"},
            ],
            **compared(round(burn.factor * level.budget, 6), days, days),
        },
    }


def _half_name(where: Deployed, level: ServiceLevel, burn: Burn, minutes: int) -> str:
    return f"{where.prefix}-{level.alarm}-{burn.name}-{window(minutes)}"


def _sum(name: str, where: Deployed, metric: str, minutes: int) -> Resource:
    assert minutes <= DAY, "no period is longer than a day"
    stat = {
        "Metric": {"Namespace": where.namespace, "MetricName": metric, "Dimensions": []},
        "Period": minutes * MINUTE,
        "Stat": "Sum",
    }
    return {"Id": name, "MetricStat": stat, "ReturnData": False}


def _state(where: Deployed, alarm: Alarm, watch: Watch) -> Iterator[Resource]:
    for value in watch.values or (None,):
        name = f"{where.prefix}-{alarm.name}"
        dimensions = [{"Name": watch.dimension, "Value": value}] if value else []
        what = alarm.summary.replace("{{ $labels.instance }}", "The service")
        for label in ("backend", "replica"):
            what = what.replace(f"{{{{ $labels.{label} }}}}", value or "")
        yield {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "AlarmName": f"{name}-{value}" if value else name,
                "AlarmDescription": describe(what, alarm.do, alarm.name, where),
                "Namespace": where.namespace,
                "MetricName": watch.metric,
                "Dimensions": dimensions,
                "Statistic": watch.statistic,
                "Period": MINUTE,
                **compared(watch.threshold, watch.datapoints, watch.periods, below=watch.below, missing=watch.missing),
                **told(where, alarm.severity),
            },
        }


def _share(where: Deployed, alarm: Alarm, share: Share) -> Resource:
    what = alarm.summary.replace("the calls of {{ $labels.tool }}", "calls")
    what = what.replace("the answers of {{ $labels.tool }}", "answers")
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": f"{where.prefix}-{alarm.name}",
            "AlarmDescription": describe(what, alarm.do, alarm.name, where),
            "Metrics": [
                _sum("bad", where, share.bad, 1),
                _sum("good", where, share.good, 1),
                {"Id": "share", "Expression": f"IF(bad >= {LEAST_BAD}, bad / (bad + good), 0)", "Label": "share of bad"},
            ],
            **compared(share.most, share.minutes, share.minutes),
            **told(where, alarm.severity),
        },
    }


def _formula(where: Deployed, alarm: Alarm, formula: Formula) -> Resource:
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": f"{where.prefix}-{alarm.name}",
            "AlarmDescription": describe(alarm.otherwise or alarm.summary, alarm.do, alarm.name, where),
            "Metrics": [
                *(_part(part, where, formula.minutes) for part in formula.parts),
                {"Id": "watched", "Expression": formula.expression, "Label": alarm.name},
            ],
            **compared(formula.most, formula.periods, formula.periods),
            **told(where, alarm.severity),
        },
    }


def _part(part: Part, where: Deployed, minutes: int) -> Resource:
    each = _sum(part.name, where, part.metric, minutes)
    each["MetricStat"]["Stat"] = part.statistic
    if part.dimension:
        name, value = part.dimension
        each["MetricStat"]["Metric"]["Dimensions"] = [{"Name": name, "Value": value}]
    return each


def compared(
    threshold: float, datapoints: int, periods: int, *, below: bool = False, missing: str = "notBreaching"
) -> Resource:
    return {
        "ComparisonOperator": "LessThanThreshold" if below else "GreaterThanThreshold",
        "Threshold": threshold,
        "DatapointsToAlarm": datapoints,
        "EvaluationPeriods": periods,
        "TreatMissingData": missing,
    }


def told(where: Deployed, severity: str) -> Resource:
    topic = where.page if severity == PAGE else where.ticket
    return {"AlarmActions": [topic], "OKActions": [topic]}


def _logical(name: str, where: Deployed) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.removeprefix(where.prefix).split("-"))
