"""The metrics as they are scraped."""

from __future__ import annotations

from server.telemetry.metrics import SCRAPES, Metrics


def test_scrapes_over_the_rate_get_the_last_text() -> None:
    metrics = Metrics()
    texts = [metrics.text_for("")[0] for _ in range(SCRAPES.burst * 3)]
    assert SCRAPES.burst <= len({id(text) for text in texts}) < SCRAPES.burst * 2
