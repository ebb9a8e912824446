"""What unit tests share: the run's own Valkey."""

from __future__ import annotations

from tests.support.valkey import redis, valkey

__all__ = ["redis", "valkey"]
