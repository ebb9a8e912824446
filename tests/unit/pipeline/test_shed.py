"""Calls late before the pipeline: a short burst is let in, a standing queue is refused."""

from __future__ import annotations

import pytest

from server.stages.admission import CALM_SECONDS, LONGEST_WAIT_MS, STANDING_SECONDS, StandingQueue
from tests.support.clocks import HandClock

LATE = LONGEST_WAIT_MS + 1


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def queue(clock: HandClock) -> StandingQueue:
    return StandingQueue(clock)


def standing(queue: StandingQueue, clock: HandClock) -> None:
    """All calls have come late for longer than a burst lasts."""
    for _ in range(6):
        queue.should_refuse(LATE)
        clock.advance(STANDING_SECONDS / 5)


def test_late_calls_within_half_a_second_are_let_in(queue: StandingQueue, clock: HandClock) -> None:
    """Late calls within half a second of the first one are the remains of a short stall."""
    for _ in range(5):
        assert not queue.should_refuse(LATE)
        clock.advance(STANDING_SECONDS / 5)


def test_late_call_is_refused_once_calls_have_been_late_for_half_a_second(queue: StandingQueue, clock: HandClock) -> None:
    """It is a standing queue: admitting its end would only delay every call."""
    standing(queue, clock)
    assert queue.should_refuse(LATE)


def test_call_that_waited_little_is_admitted_whatever_happened_before(queue: StandingQueue, clock: HandClock) -> None:
    """Refusals shorten the queue, and calls that then waited little are answered."""
    standing(queue, clock)
    assert not queue.should_refuse(LONGEST_WAIT_MS)


def test_late_calls_are_refused_again_right_after_one_prompt_call(queue: StandingQueue, clock: HandClock) -> None:
    """Under a load that stays, late calls are refused without another half second of waiting."""
    standing(queue, clock)
    assert queue.should_refuse(LATE)
    assert not queue.should_refuse(LONGEST_WAIT_MS)
    assert queue.should_refuse(LATE)


def test_late_call_is_admitted_again_two_seconds_after_the_last_refusal(queue: StandingQueue, clock: HandClock) -> None:
    """The standing queue is forgotten two seconds after the last refusal."""
    standing(queue, clock)
    assert queue.should_refuse(LATE)
    clock.advance(CALM_SECONDS)
    assert not queue.should_refuse(LATE)


def test_late_calls_far_apart_are_no_standing_queue(queue: StandingQueue, clock: HandClock) -> None:
    """An idle server on a machine that stalls now and then sees such calls."""
    for _ in range(10):
        assert not queue.should_refuse(LATE)
        clock.advance(STANDING_SECONDS * 2)


def test_queue_stands_when_calls_wait_over_100_ms_for_half_a_second() -> None:
    clock = HandClock(0.0)
    queue = StandingQueue(clock)
    said = []
    for waited_ms in (100.5, 100.5, 100.5, 100.5, 100.0):
        said.append(queue.should_refuse(waited_ms))
        clock.advance(0.25)
    assert said == [False, False, False, True, False]


def test_wait_of_100_ms_is_not_late() -> None:
    clock = HandClock(0.0)
    queue = StandingQueue(clock)
    for _ in range(10):
        assert not queue.should_refuse(100.0)
        clock.advance(0.25)


def test_late_call_within_two_seconds_of_a_refusal_is_refused() -> None:
    for pause, refused in ((1.875, True), (2.0, False)):
        clock = HandClock(0.0)
        queue = StandingQueue(clock)
        for _ in range(3):
            queue.should_refuse(101.0)
            clock.advance(0.25)
        assert queue.should_refuse(101.0)
        assert not queue.should_refuse(0.0)
        clock.advance(pause)
        assert queue.should_refuse(101.0) is refused


def test_late_calls_up_to_half_a_second_apart_form_one_queue() -> None:
    for pause, said in ((0.5, [False, False, True]), (0.5625, [False, False, False])):
        clock = HandClock(0.0)
        queue = StandingQueue(clock)
        found = []
        for _ in range(3):
            found.append(queue.should_refuse(101.0))
            clock.advance(pause)
        assert found == said
