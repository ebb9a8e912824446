"""What unit tests share: the run's own Valkey, a shelf of titles, and backends whose mood a test decides."""

from __future__ import annotations

import pytest

from tests.support.store import Backends, Shelf, shelf
from tests.support.valkey import redis, valkey

__all__ = ["redis", "shelf", "valkey"]


@pytest.fixture
def moody(shelf: Shelf) -> Backends:
    return shelf.in_moods()


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What works may take its time on a busy machine; the times themselves are tested under load."""
    monkeypatch.setattr("session.memory.TRIP_SECONDS", 5.0)
    monkeypatch.setattr("server.stages.fallback.RUNG_SECONDS", 0.2)
