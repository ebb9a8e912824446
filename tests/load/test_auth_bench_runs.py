"""The benchmark of authentication still runs: every kind is served from the cache, and the ratios are of one round. Untimed."""

from __future__ import annotations

import pytest

from tests.load.auth import measure, ratios, table
from tests.load.auth_load import KINDS, NONE, OWN, SHARED, TOKEN
from tests.load.variants import PRODUCT


async def test_every_kind_is_answered_as_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """`measure` refuses a run in which more than a few answers were not as promised."""
    monkeypatch.setitem(PRODUCT, "MANGA_EMBEDDER", "none")  # starts in half the time
    (sample,) = await measure(seconds=0.3, rounds=1, clients=2)
    assert set(sample) == set(KINDS)
    assert all(cpu > 0 for cpu in sample.values())


def test_a_ratio_is_taken_within_its_round() -> None:
    """So that a machine that gets slower does not make one of them dearer."""
    rounds = [{NONE: slow, TOKEN: slow, OWN: slow * 1.05, SHARED: slow * 1.2} for slow in (1.0, 3.0, 2.0)]
    assert ratios(rounds) == pytest.approx({TOKEN: 1.0, OWN: 1.05, SHARED: 1.2})
    text = table(rounds, 1.0, 2)
    assert "MISSED  jwt, shared: 1.20" in text
    assert "met     jwt, own: 1.05" in text
