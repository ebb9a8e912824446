"""What unit tests share: the run's own Valkey, and a shelf of titles."""

from __future__ import annotations

from tests.support.store import shelf
from tests.support.valkey import redis, valkey

__all__ = ["redis", "shelf", "valkey"]
