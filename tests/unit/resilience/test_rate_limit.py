"""A token bucket of this process alone."""

from __future__ import annotations

from session.resilience.rate_limit import LocalLimits, Rate
from tests.support.clocks import HandClock


def test_a_bucket_says_in_how_many_ms_the_next_token_is_there() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]
    clock.advance(0.0625)
    assert (limits.next_ms("a"), limits.wait_ms("a")) == (63, 63)
    clock.advance(0.0625)
    assert (limits.next_ms("a"), limits.next_ms("a")) == (0, 0), "asking takes none"
    assert [limits.wait_ms("a") for _ in range(2)] == [0, 125]
    assert limits.wait_ms("b") == 0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    limits.wait_ms("a")
    clock.advance(3600)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]


def test_a_bucket_that_is_full_again_takes_no_room() -> None:
    """Or each new name would leave one, twenty thousand of them."""
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=10, burst=40), clock)
    for number in range(1000):
        assert limits.wait_ms(f"caller {number}") == 0
        clock.advance(0.1)
    assert len(vars(limits)["_buckets"]) <= 42


def test_a_crowd_has_the_rate_of_so_many() -> None:
    assert Rate(3, 5).times(4) == Rate(12, 20)
    assert Rate() == Rate(10, 40)


def test_a_token_that_is_due_is_not_refused_for_the_rounding_of_the_clock() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=10, burst=1), clock)
    assert limits.wait_ms("a") == 0
    for _ in range(10):
        clock.advance(0.01)  # ten of them are a little less than a tenth
    assert limits.wait_ms("a") == 0
