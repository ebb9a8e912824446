"""When an outage begins, and what is logged of its start and end."""

from __future__ import annotations

import logging

import pytest

from session.resilience.breaker import Outage
from tests.support.clocks import HandClock


def test_outage_starts_after_three_failures_in_a_row_and_is_logged_at_start_and_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = HandClock(0.0)
    outage = Outage(logging.getLogger("test"), "It", after=3, clock=clock)
    for what in ("failed", "failed", "over", "failed", "failed"):
        outage.record_failure("why") if what == "failed" else outage.record_recovery()
        assert outage.why is None
    with caplog.at_level(logging.INFO):
        outage.record_failure("the reason")
        outage.record_failure("another")
        assert outage.why == "the reason"
        clock.advance(2.5)
        outage.record_recovery()
        outage.record_recovery()
    assert [record.getMessage() for record in caplog.records] == ["It is lost: the reason", "It is back after 2.5 s"]
    assert outage.why is None


def test_permanent_failure_starts_an_outage_at_once() -> None:
    outage = Outage(logging.getLogger("test"), "It", after=3)
    outage.record_failure("why", permanent=True)
    assert outage.why == "why"
