"""The figures of calls are counted and summed up, by the test's clock."""

from __future__ import annotations

from random import Random

import pytest

from server.ops.figures import (
    FAILURES,
    OTHERS,
    SLOT_SECONDS,
    SLOTS,
    UNKNOWN_FAILURE,
    CallStatistics,
    SlidingCounter,
    bucket,
    percentiles,
)
from tests.support.clocks import HandClock
from tests.support.events import an_event

WINDOW = 300.0


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def figures(clock: HandClock) -> CallStatistics:
    return CallStatistics(clock, clock, total=100, shed=7)


def test_percentiles_are_accurate_to_six_percent() -> None:
    draw = Random(1)
    values = sorted(draw.lognormvariate(2, 1.5) for _ in range(5000))
    counted = SlidingCounter[int]()
    for each in values:
        counted.add(bucket(each))
    for share, found in zip((0.5, 0.95, 0.99), percentiles(counted.total, (0.5, 0.95, 0.99)), strict=True):
        assert found == pytest.approx(values[int(share * 5000)], rel=0.06)


def test_percentiles_of_no_values_are_none() -> None:
    assert percentiles({}, (0.5, 0.99)) == [None, None]


def test_percentile_is_the_least_bucket_that_reaches_its_share() -> None:
    assert percentiles({1: 1, 49: 1}, (0.5, 0.51, 1)) == [0.1, 10.2, 10.2]
    assert percentiles({80: 2, 0: 1, 66: 1}, (0.25, 0.5, 0.75)) == [0.0, 51.4, 195.3]


def test_durations_of_any_length_fall_into_a_bounded_number_of_buckets() -> None:
    durations = (-5, 0, 0.05, 0.1, 0.105, 0.111, 10, 50, 200, 380_000, 410_000, 1e9)
    assert [bucket(ms) for ms in durations] == [0, 0, 0, 0, 1, 2, 49, 66, 80, 159, 160, 160]
    assert percentiles({bucket(0): 3}, (0.5,)) == [0.0]


def test_sliding_counter_forgets_after_five_minutes() -> None:
    counted = SlidingCounter[str]()
    counted.add("once")
    for _ in range(SLOTS - 1):
        counted.advance()
    counted.add("again")
    assert counted.total == {"once": 1, "again": 1}
    counted.advance()
    assert counted.total == {"again": 1}
    for _ in range(SLOTS):
        counted.advance()
    assert counted.total == {}


def test_figures_of_a_tool_list_its_sources_and_failures(figures: CallStatistics, clock: HandClock) -> None:
    for source in ("live", "live", "cache", "stale", "fallback"):
        figures(an_event(source=source, milliseconds=10.0))
    for outcome in ("TIMEOUT", "TIMEOUT", "SERVER_BUSY", "cancelled", "INPUT_REQUIRED"):
        figures(an_event(outcome=outcome, source=None, budget_left_ms=None))
    clock.advance(1)
    figures.tick()
    (tool,) = figures.tools()
    assert (tool["calls"], tool["sources"]) == (10, {"live": 2, "cache": 1, "stale": 1, "fallback": 1})
    assert tool["errors"] == {"TIMEOUT": 2, "SERVER_BUSY": 1}
    assert figures.calls(in_flight=3) == {"per_second": 10.0, "under_way": 3, "shed": 8, "total": 110}
    clock.advance(WINDOW - 1.5)
    figures.tick()
    assert figures.tools() == [tool]
    clock.advance(0.5)
    figures.tick()
    assert figures.tools() == []
    assert figures.calls(0) == {"per_second": 0.0, "under_way": 0, "shed": 8, "total": 110}


def test_percentiles_of_a_tool_and_of_the_budget_left_are_of_all_its_calls(figures: CallStatistics) -> None:
    durations = [10.0] * 50 + [20.0] * 60 + [40.0] * 85 + [80.0] * 4 + [160.0]
    left = [10] + [50] * 4 + [200] * 10 + [1000] * 185
    for milliseconds, left_ms in zip(durations, left, strict=True):
        figures(an_event(milliseconds=milliseconds, budget_left_ms=left_ms))
    figures.tick()
    (tool,) = figures.tools()
    assert (tool["p50_ms"], tool["p95_ms"], tool["p99_ms"]) == (19.8, 38.6, 82.8)
    budget = figures.budget_left()
    assert (budget["p1_ms"], budget["p5_ms"], budget["p50_ms"], budget["exhausted"]) == (51.4, 195.3, 987.2, 0)


def test_calls_per_second_are_of_the_last_five_seconds() -> None:
    clock, told = HandClock(0.0), []
    figures = CallStatistics(clock, clock, 0, 0)
    for second in range(14):
        for _ in range(61 if second == 1 else 0):
            figures(an_event())
        figures.tick()
        told.append(figures.calls(0)["per_second"])
        clock.advance(0.5)
    assert told == [0.0, 61.0, 61.0, 40.7, 30.5, 24.4, 20.3, 17.4, 15.2, 13.6, 12.2, 11.1, 0.0, 0.0]


def test_share_of_calls_with_the_flag_on_is_of_the_last_five_minutes(figures: CallStatistics, clock: HandClock) -> None:
    for variant in ("on", "off", "on", "canary"):
        figures(an_event(variant=variant))
    figures.tick()
    assert figures.on_share("lookup_order") == 0.75
    assert figures.on_share("check_inventory") is None
    clock.advance(WINDOW + SLOT_SECONDS)
    figures.tick()
    assert figures.on_share("lookup_order") is None


def test_budget_left_of_turns_has_percentiles_and_a_count_of_exhausted_turns(figures: CallStatistics) -> None:
    for left in (2800, 2500, 2000, 900, 0):
        figures(an_event(budget_left_ms=left))
    figures(an_event(outcome="BUDGET_EXHAUSTED", source=None, budget_left_ms=0))
    figures.tick()
    left = figures.budget_left()
    assert left["p50_ms"] == pytest.approx(900, rel=0.06)
    assert (left["p1_ms"], left["exhausted"]) == (0.0, 1)


def test_history_has_one_point_per_five_seconds_for_five_minutes(figures: CallStatistics, clock: HandClock) -> None:
    clock.advance(0.26)
    for _ in range(70):
        for _ in range(5):
            figures(an_event(milliseconds=1.0))
        for _ in range(20):
            figures(an_event(milliseconds=40.0))
        figures(an_event(milliseconds=900.0, outcome="TIMEOUT"))
        clock.advance(5.0)
        figures.tick()
    points = figures.history()
    assert len(points) == 60
    assert points[-1].pop("p50_ms") == pytest.approx(40, rel=0.06)
    assert points[-1].pop("p99_ms") == pytest.approx(900, rel=0.06)
    assert points[-1] == {"at": 1350.3, "per_second": 5.2, "errors": 1}


def test_figures_after_a_long_sleep_count_new_calls_only(figures: CallStatistics, clock: HandClock) -> None:
    figures(an_event())
    clock.advance(10 * WINDOW)
    figures.tick()
    figures(an_event())
    figures.tick()
    assert [each["calls"] for each in figures.tools()] == [1]


def test_latest_kinds_of_errors_are_listed_newest_first_with_advice(figures: CallStatistics, clock: HandClock) -> None:
    for number in range(25):
        figures(an_event(tool=f"tool-{number}", outcome="TIMEOUT"))
    figures.tick()
    clock.advance(0.26)
    figures(an_event(tool="tool-10", outcome="TIMEOUT"))
    figures(an_event(tool="tool-24", outcome="UNHEARD"))
    figures.tick()
    errors = figures.errors()
    assert len(errors) == 20
    assert [(each["at"], each["tool"], each["name"], each["count"]) for each in errors[:3]] == [
        (1000.3, "tool-24", "UNHEARD", 1),
        (1000.3, "tool-10", "TIMEOUT", 2),
        (1000.0, "tool-24", "TIMEOUT", 1),
    ]
    assert [each["advice"] for each in errors[:2]] == [UNKNOWN_FAILURE, FAILURES["TIMEOUT"]]


def test_figures_keep_a_bounded_number_of_tools(figures: CallStatistics) -> None:
    for number in [*range(100), 0]:
        figures(an_event(tool=f"tool-{number}"))
    figures.tick()
    told = {each["name"]: each["calls"] for each in figures.tools()}
    assert told == {"tool-0": 2, **{f"tool-{number}": 1 for number in range(1, 64)}, OTHERS: 36}


def test_figures_count_early_when_many_calls_wait_uncounted(figures: CallStatistics) -> None:
    for _ in range(255):
        figures(an_event())
    assert figures.total == 100
    figures(an_event())
    assert figures.total == 356


def test_turns_exhausted_between_calls_are_counted_apart_with_advice(figures: CallStatistics) -> None:
    figures(an_event(turn_over=True, source="fallback"))
    figures.tick()
    left = figures.budget_left()
    assert (left["over_between"], left["over_inside"], left["advice"]) == (0, 1, None)
    figures(an_event(turn_over=True, over_between=True, source="fallback"))
    figures.tick()
    left = figures.budget_left()
    assert (left["over_between"], left["over_inside"]) == (1, 1)
    assert "MANGA_TURN_CLOCK=tools" in left["advice"]
