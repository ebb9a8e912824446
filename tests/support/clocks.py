"""Clocks that move by hand."""

from __future__ import annotations


class HandClock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
