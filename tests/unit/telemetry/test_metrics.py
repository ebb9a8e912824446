"""The metrics as they are scraped."""

from __future__ import annotations

from server.telemetry.metrics import SCRAPES, Metrics


def test_scrapes_over_the_rate_get_the_last_text() -> None:
    metrics = Metrics()
    texts = [metrics.text_for("")[0] for _ in range(SCRAPES.burst * 3)]
    assert SCRAPES.burst <= len({id(text) for text in texts}) < SCRAPES.burst * 2


def test_any_accept_header_gets_one_of_two_forms() -> None:
    metrics = Metrics()
    forms = {
        metrics.text_for(f"application/openmetrics-text; version={version}")[1] for version in ("1.0.1", "abc", "9" * 99)
    }
    assert len(forms | {metrics.text_for(accept)[1] for accept in ("", "*/*", "text/plain; version=7")}) == 2
