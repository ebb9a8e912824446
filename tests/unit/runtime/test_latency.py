"""The latency sketch against the exact quantiles, and by a clock in the test's hand."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from server.stages.admission import LatencySketch
from tests.support.clocks import HandClock


@given(st.lists(st.floats(0.0002, 30), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_quantiles_are_right_within_five_per_cent(seconds: list[float], share: float) -> None:
    sketch = LatencySketch(HandClock())
    for each in seconds:
        sketch.add(each)
    exact = sorted(seconds)[max(0, math.ceil(share * len(seconds) - 1e-9) - 1)]
    assert abs(sketch.quantile(share) - exact) <= 0.051 * exact
    assert sketch.count() == len(seconds)


def test_an_empty_one_knows_nothing() -> None:
    sketch = LatencySketch(HandClock())
    assert (sketch.count(), sketch.quantile(0.95)) == (0, 0.0)


def test_what_takes_no_time_is_taken_for_the_smallest() -> None:
    sketch = LatencySketch(HandClock())
    sketch.add(0.0)
    assert 0 < sketch.quantile(1) < 0.0002


def test_what_is_older_than_the_window_is_forgotten_a_half_at_a_time() -> None:
    clock = HandClock()
    sketch = LatencySketch(clock)
    sketch.add(1.0)
    clock.advance(15)
    sketch.add(2.0)
    assert sketch.count() == 2
    clock.advance(15)
    assert sketch.count() == 1
    sketch.add(3.0)
    clock.advance(30)
    assert sketch.count() == 0
