"""A derived deadline is never later than its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock

SECONDS = st.floats(-10, 1000, allow_nan=False)


def test_deadline_expires_and_its_remaining_time_is_never_negative() -> None:
    clock = HandClock()
    deadline = Deadline.after(1, clock)
    assert (deadline.remaining(), deadline.expired()) == (1, False)
    clock.advance(1)
    assert (deadline.remaining(), deadline.expired()) == (0, True)
    clock.advance(1)
    assert deadline.remaining() == 0


@given(SECONDS, SECONDS, st.floats(0, 100))
def test_derived_deadline_is_never_later(first: float, second: float, less: float) -> None:
    clock = HandClock()
    deadline = Deadline.after(first, clock)
    assert deadline.within(second).at == min(deadline.at, Deadline.after(second, clock).at)
    assert deadline.earlier_by(less).at <= deadline.at


def test_deadlines_of_the_same_instant_are_equal_whatever_their_clock() -> None:
    assert Deadline(5.0, HandClock()) == Deadline(5.0)


def test_derived_deadlines_are_cut_to_the_given_seconds() -> None:
    clock = HandClock(10.0)
    deadline = Deadline(12.0, clock)
    assert [deadline.within(seconds).at for seconds in (1.0, 2.0, 3.0)] == [11.0, 12.0, 12.0]
    assert deadline.earlier_by(0.5).at == 11.5
