"""The latency sketch is compared with exact quantiles, by the test's clock."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from server.stages.admission import LatencySketch
from tests.support.clocks import HandClock


@given(st.lists(st.floats(0.0002, 30), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_quantiles_are_accurate_to_five_percent(seconds: list[float], share: float) -> None:
    sketch = LatencySketch(HandClock())
    for each in seconds:
        sketch.add(each)
    exact = sorted(seconds)[max(0, math.ceil(share * len(seconds) - 1e-9) - 1)]
    assert abs(sketch.quantile(share) - exact) <= 0.051 * exact
    assert sketch.count() == len(seconds)


def test_empty_sketch_has_no_quantile() -> None:
    sketch = LatencySketch(HandClock())
    assert (sketch.count(), sketch.quantile(0.95)) == (0, 0.0)


def test_duration_of_zero_counts_as_the_smallest_bucket() -> None:
    sketch = LatencySketch(HandClock())
    sketch.add(0.0)
    assert 0 < sketch.quantile(1) < 0.0002


def test_sketch_forgets_the_older_half_of_its_window() -> None:
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
