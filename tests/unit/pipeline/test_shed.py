"""Calls that waited for the processor before they got into the pipeline: a burst is let in, a standing queue is not."""

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
        queue.stands_before(LATE)
        clock.advance(STANDING_SECONDS / 5)


def test_a_burst_waits_and_is_let_in(queue: StandingQueue, clock: HandClock) -> None:
    """Late calls within half a second of the first are what a hiccup leaves behind."""
    for _ in range(5):
        assert not queue.stands_before(LATE)
        clock.advance(STANDING_SECONDS / 5)


def test_calls_are_refused_once_all_have_been_late_for_a_while(queue: StandingQueue, clock: HandClock) -> None:
    """The queue stands: letting in its end would only make everybody later."""
    standing(queue, clock)
    assert queue.stands_before(LATE)


def test_a_prompt_call_is_let_in_whatever_has_been_before(queue: StandingQueue, clock: HandClock) -> None:
    """Refusing shortens the queue, and whoever then waits little is answered."""
    standing(queue, clock)
    assert not queue.stands_before(LONGEST_WAIT_MS)


def test_one_prompt_call_does_not_let_the_queue_grow_again(queue: StandingQueue, clock: HandClock) -> None:
    """Under a load that stays, late calls are refused without another half second of waiting."""
    standing(queue, clock)
    assert queue.stands_before(LATE)
    assert not queue.stands_before(LONGEST_WAIT_MS)
    assert queue.stands_before(LATE)


def test_after_a_calm_time_a_burst_is_let_in_again(queue: StandingQueue, clock: HandClock) -> None:
    """What was is forgotten two seconds after the last refusal."""
    standing(queue, clock)
    assert queue.stands_before(LATE)
    clock.advance(CALM_SECONDS)
    assert not queue.stands_before(LATE)


def test_single_late_calls_far_apart_are_no_queue(queue: StandingQueue, clock: HandClock) -> None:
    """A server that has little to do, on a machine that stops it now and then."""
    for _ in range(10):
        assert not queue.stands_before(LATE)
        clock.advance(STANDING_SECONDS * 2)


def test_a_queue_stands_once_calls_have_been_later_than_a_tenth_of_a_second_for_half_a_second() -> None:
    clock = HandClock(0.0)
    queue = StandingQueue(clock)
    said = []
    for waited_ms in (100.5, 100.5, 100.5, 100.5, 100.0):
        said.append(queue.stands_before(waited_ms))
        clock.advance(0.25)
    assert said == [False, False, False, True, False]


def test_a_hundred_ms_are_not_late() -> None:
    clock = HandClock(0.0)
    queue = StandingQueue(clock)
    for _ in range(10):
        assert not queue.stands_before(100.0)
        clock.advance(0.25)


def test_whoever_is_late_within_two_seconds_of_a_refusal_is_refused() -> None:
    for pause, refused in ((1.875, True), (2.0, False)):
        clock = HandClock(0.0)
        queue = StandingQueue(clock)
        for _ in range(3):
            queue.stands_before(101.0)
            clock.advance(0.25)
        assert queue.stands_before(101.0)
        assert not queue.stands_before(0.0)
        clock.advance(pause)
        assert queue.stands_before(101.0) is refused


def test_late_calls_half_a_second_apart_are_still_one_queue_and_further_apart_none() -> None:
    for pause, said in ((0.5, [False, False, True]), (0.5625, [False, False, False])):
        clock = HandClock(0.0)
        queue = StandingQueue(clock)
        found = []
        for _ in range(3):
            found.append(queue.stands_before(101.0))
            clock.advance(pause)
        assert found == said
