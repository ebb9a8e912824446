"""The figures of calls are counted and summed up, by the test's clock."""

from __future__ import annotations

from random import Random

import pytest

from server.ops.figures import (
    MOST_BUCKETS,
    MOST_ERRORS,
    MOST_TOOLS,
    MOST_UNCOUNTED,
    OTHERS,
    SLOT_SECONDS,
    SLOTS,
    CallStatistics,
    SlidingCounter,
    bucket,
    percentiles,
)
from tests.support.clocks import HandClock
from tests.support.events import an_event

WINDOW = SLOTS * SLOT_SECONDS


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


def test_durations_of_any_length_fall_into_a_bounded_number_of_buckets() -> None:
    assert [bucket(ms) for ms in (-5, 0, 0.05, 1e9)] == [0, 0, 0, MOST_BUCKETS]
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
    clock.advance(WINDOW + SLOT_SECONDS)
    figures.tick()
    assert figures.tools() == []
    assert figures.calls(0)["total"] == 110


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
    for _ in range(SLOTS + 10):
        for _ in range(20):
            figures(an_event(milliseconds=40.0))
        figures(an_event(milliseconds=900.0, outcome="TIMEOUT"))
        clock.advance(SLOT_SECONDS)
        figures.tick()
    points = figures.history()
    assert len(points) == SLOTS
    assert points[-1]["per_second"] == pytest.approx(21 / SLOT_SECONDS)
    assert points[-1]["errors"] == 1
    assert points[-1]["p50_ms"] == pytest.approx(40, rel=0.06)
    assert points[-1]["p99_ms"] == pytest.approx(900, rel=0.06)


def test_figures_after_a_long_sleep_count_new_calls_only(figures: CallStatistics, clock: HandClock) -> None:
    figures(an_event())
    clock.advance(10 * WINDOW)
    figures.tick()
    figures(an_event())
    figures.tick()
    assert [each["calls"] for each in figures.tools()] == [1]


def test_latest_kinds_of_errors_are_listed_newest_first_with_advice(figures: CallStatistics, clock: HandClock) -> None:
    for number in range(MOST_ERRORS + 5):
        figures(an_event(tool=f"tool-{number}", outcome="TIMEOUT"))
    figures(an_event(tool="tool-10", outcome="TIMEOUT"))
    figures.tick()
    errors = figures.errors()
    assert len(errors) == MOST_ERRORS
    assert (errors[0]["tool"], errors[0]["count"]) == ("tool-10", 2)
    assert all(each["advice"] for each in errors)


def test_figures_keep_a_bounded_number_of_tools(figures: CallStatistics) -> None:
    for number in range(3 * MOST_TOOLS):
        figures(an_event(tool=f"tool-{number}"))
    figures.tick()
    told = figures.tools()
    assert len(told) <= MOST_TOOLS + 1
    assert sum(each["calls"] for each in told) == 3 * MOST_TOOLS
    assert OTHERS in {each["name"] for each in told}


def test_figures_count_early_when_many_calls_wait_uncounted(figures: CallStatistics) -> None:
    for _ in range(MOST_UNCOUNTED):
        figures(an_event())
    assert figures.total == 100 + MOST_UNCOUNTED


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
