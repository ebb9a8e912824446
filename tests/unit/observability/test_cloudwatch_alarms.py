"""CloudWatch's alarms as data: their metrics, and when each rings on timelines made up by the test."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from infra.alarms.cloudwatch import Deployed, alarms, rollback_names
from infra.alarms.rules import NAMES
from infra.alarms.slos import BURNS, DAY, SERVICE_LEVELS
from server.telemetry.service_levels import NUMBERS
from tests.support.cases import cases
from tests.support.cloudwatch import Alarms, Key, Minute, Phase, Timeline, calculated

WHERE = Deployed("shop", "MangaTools/test", "page", "ticket", "https://example.com/repository")
RESOURCES = alarms(WHERE)
WATCHED = Alarms(RESOURCES)
SCRAPED = "manga-tools"
BY_THEMSELVES = {"MangaInternalErrors", "MangaBackgroundTaskDies"}
AT = {
    "MangaInternalErrors": 0, "MangaBackgroundTaskDies": 2, "MangaSlow": 100, "MangaDegraded": 20,
    "MangaSearchesFindNothing": 5, "MangaRefusesMany": 600, "MangaOutOfFiles": 90,
}  # fmt: skip
"""At the threshold, or, of answers, all within their time."""
ONE_PERIOD_SECONDS, ALL_PERIODS_SECONDS, FINE_SECONDS = 86_400, 604_800, 3600


def minute(bad: float = 0, good: float = 100, **states: float) -> dict[Key, Minute]:
    """Of a service with one process; `bad` and `good` answers by their use."""
    counts = {
        "AnswersUnusable": bad,
        "AnswersUsable": good,
        "AnswersInTime": good + bad,
        "AnswersLate": 0,
        "AuditLinesLost": 0,
    }
    states = {"CallsUnderWay": 1, "Ready": 1, "RedisAway": 0, **states}
    holds: dict[Key, Minute] = {(name, None): Minute(total, 6, 0, total) for name, total in counts.items()}
    return holds | {(name, None): Minute(value, 60, value, value) for name, value in states.items()}


def ringing(phases: list[tuple[int, Mapping[Key, Minute]]], at: int) -> set[str]:
    """Names of those that tell somebody, so many minutes before the end."""
    timeline = Timeline([Phase(minutes, holds) for minutes, holds in phases])
    now = sum(minutes for minutes, _ in phases) - at
    fired = WATCHED.at(timeline, now) & (WATCHED.telling("page") | WATCHED.telling("ticket"))
    return {name.removeprefix("shop-") for name in fired}


def test_healthy_service_raises_no_alarm() -> None:
    assert ringing([(4 * DAY, minute())], at=0) == set()


@cases(
    ("minutes", "bad", "expected"),
    [
        (3, 50, {"MangaUnusableBurn-fast"}),
        (60, 2, {"MangaUnusableBurn-fast"}),
        (5 * 60, 0.7, set()),
        (6 * 60, 0.7, {"MangaUnusableBurn-medium"}),
        (3 * DAY, 0.2, {"MangaUnusableBurn-slow"}),
        (2 * DAY, 0.2, set()),
    ],
)
def test_burn_alarm_depends_on_how_fast_the_error_budget_goes(minutes: int, bad: float, expected: set[str]) -> None:
    """Of a hundred answers a minute so many are bad, for so many minutes. What is small rings late, or not at all."""
    assert ringing([(4 * DAY, minute()), (minutes, minute(bad, 100 - bad))], at=0) == expected


def test_burn_alarm_ends_with_its_short_window() -> None:
    phases = [(4 * DAY, minute()), (30, minute(10, 90)), (120, minute())]
    assert "MangaUnusableBurn-fast" in ringing(phases, at=117)
    assert "MangaUnusableBurn-fast" not in ringing(phases, at=114)


def test_few_bad_answers_at_low_traffic_raise_no_alarm() -> None:
    assert ringing([(4 * DAY, minute(0, 1)), (5, minute(0.4, 0.6))], at=0) == set()


def test_missing_metrics_raise_only_the_manga_down_alarm() -> None:
    """Without lines no other alarm has data; the missing lines are noticed after three minutes."""
    assert ringing([(DAY, minute()), (1, {})], at=0) == set()
    assert ringing([(DAY, minute()), (10, {})], at=0) == {"MangaDown"}


def test_redis_alarm_needs_two_bad_minutes() -> None:
    away = minute(RedisAway=1)
    assert ringing([(DAY, minute()), (1, away)], at=0) == set()
    assert ringing([(DAY, minute()), (2, away)], at=0) == {"MangaRedisAway"}
    assert ringing([(DAY, minute()), (2, away), (2, minute())], at=0) == set()


@cases(
    ("holds", "expected"),
    [
        ({("manga_calls_total", "INTERNAL_ERROR"): 1}, "MangaInternalErrors"),
        ({("manga_background_deaths_total", SCRAPED): 3}, "MangaBackgroundTaskDies"),
        ({("AnswersInTwoSeconds", None): 98, ("AnswersSent", None): 100}, "MangaSlow"),
        ({("manga_calls_degraded_total", SCRAPED): 21}, "MangaDegraded"),
        ({("manga_empty_searches_total", SCRAPED): 6, ("manga_calls_total", "ok"): 10}, "MangaSearchesFindNothing"),
        ({("manga_refusals_total", SCRAPED): 601}, "MangaRefusesMany"),
        ({("manga_connections_held", SCRAPED): 91, ("manga_connections_most", SCRAPED): 100}, "MangaOutOfFiles"),
    ],
)
def test_threshold_alarm_rings_above_its_threshold_and_not_at_it(holds: dict[Key, float], expected: str) -> None:
    """So much a minute, of a service with a hundred answers. Deaths and errors count one by one, all else for an hour."""
    first, *rest = holds.items()
    at = dict([(first[0], AT[expected]), *rest])
    above, below = (minute() | {key: Minute(each, 1, each, each) for key, each in some.items()} for some in (holds, at))
    minutes = 1 if expected in BY_THEMSELVES else 60
    after = minute() | {first[0]: Minute(0, 1, 0, 0)} if expected in BY_THEMSELVES else below
    assert ringing([(DAY, minute()), (minutes, above)], at=0) == {expected}
    assert ringing([(DAY, minute()), (minutes, below)], at=0) == set()
    assert ringing([(DAY, minute()), (minutes, above), (30, after)], at=0) == set()


def test_test_evaluator_computes_cloudwatch_metric_math() -> None:
    assert calculated("FILL(bad, 0) / 4", {"bad": 2}) == 0.5
    assert calculated("FILL(bad, 0) / good", {"good": 2}) == 0
    assert calculated("IF(bad >= 3, bad / (bad + good), 0)", {"bad": 3, "good": 1}) == 0.75
    assert calculated("IF(bad >= 3, bad / (bad + good), 0)", {"bad": 2, "good": 1}) == 0
    assert calculated("bad / good", {"bad": 2, "good": 0}) is None
    with pytest.raises(NotImplementedError):
        calculated("METRICS()", {})


def test_every_alarm_links_to_its_runbook() -> None:
    for resource in RESOURCES.values():
        told = resource["Properties"]
        name = told["AlarmName"].split("-")[1]
        assert name in NAMES
        assert told["AlarmDescription"].endswith(f" https://example.com/repository/infra/RUNBOOKS.md#{name.lower()}")
        assert len(told["AlarmDescription"]) <= 1024
        assert "{{" not in told["AlarmDescription"]


def test_every_alarm_uses_an_emitted_metric_and_allowed_periods() -> None:
    """A period is at most a day; an evaluation spans at most seven days, or one day for periods below an hour."""
    numbers = {number.name: number for number in NUMBERS}
    for resource in RESOURCES.values():
        told = resource["Properties"]
        if resource["Type"] != "AWS::CloudWatch::Alarm":
            continue
        stats = [each["MetricStat"] for each in told.get("Metrics", ()) if "MetricStat" in each]
        for metric in [each["Metric"] for each in stats] or [told]:
            if metric["MetricName"].startswith("manga_"):
                continue  # the collector's: tests/cdk/test_task.py
            number = numbers[metric["MetricName"]]
            assert [each["Name"] for each in metric["Dimensions"]] == ([number.dimension] if number.dimension else [])
        for period in [each["Period"] for each in stats] or [told["Period"]]:
            assert period % 60 == 0
            assert period <= ONE_PERIOD_SECONDS
            assert period * told["EvaluationPeriods"] <= (
                ALL_PERIODS_SECONDS if period >= FINE_SECONDS else ONE_PERIOD_SECONDS
            )
        assert 1 <= told["DatapointsToAlarm"] <= told["EvaluationPeriods"]


def test_only_composite_burn_alarms_notify_once_each() -> None:
    telling = WATCHED.telling("page") | WATCHED.telling("ticket")
    burning = {name for name in telling if "Burn" in name}
    assert burning == {f"shop-{level.alarm}-{burn.name}" for level in SERVICE_LEVELS for burn in BURNS}


def test_rollback_alarms_exist_and_ring_within_three_minutes() -> None:
    by_name = {each["Properties"]["AlarmName"]: each["Properties"] for each in RESOURCES.values()}
    assert set(rollback_names(WHERE)) <= by_name.keys()
    phases = [(DAY, minute()), (3, minute(50, 50))]
    timeline = Timeline([Phase(minutes, holds) for minutes, holds in phases])
    assert "shop-MangaUnusableBurn-fast-5m" in WATCHED.at(timeline, DAY + 3)
