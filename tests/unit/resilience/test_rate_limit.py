"""The token bucket of one process."""

from __future__ import annotations

from session.resilience.rate_limit import LocalLimits, Rate
from tests.support.clocks import HandClock


def test_bucket_returns_the_milliseconds_until_its_next_token() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]
    clock.advance(0.0625)
    assert (limits.peek_wait_ms("a"), limits.wait_ms("a")) == (63, 63)
    clock.advance(0.0625)
    assert (limits.peek_wait_ms("a"), limits.peek_wait_ms("a")) == (0, 0), "asking takes none"
    assert [limits.wait_ms("a") for _ in range(2)] == [0, 125]
    assert limits.wait_ms("b") == 0


def test_bucket_never_holds_more_than_its_burst() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    limits.wait_ms("a")
    clock.advance(3600)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]


def test_full_bucket_is_removed_from_memory() -> None:
    """Otherwise each new name would leave a bucket, up to twenty thousand of them."""
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=10, burst=40), clock)
    for number in range(1000):
        assert limits.wait_ms(f"caller {number}") == 0
        clock.advance(0.1)
    assert len(vars(limits)["_buckets"]) <= 42


def test_rate_can_be_multiplied_by_a_number_of_callers() -> None:
    assert Rate(3, 5).scaled(4) == Rate(12, 20)
    assert Rate() == Rate(10, 40)


def test_due_token_is_granted_despite_the_rounding_of_the_clock() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=10, burst=1), clock)
    assert limits.wait_ms("a") == 0
    for _ in range(10):
        clock.advance(0.01)  # ten of them are a little less than a tenth
    assert limits.wait_ms("a") == 0
