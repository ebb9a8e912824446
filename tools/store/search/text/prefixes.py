"""Keys in their order, so that those with a prefix are found by bisection."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

MOST = 200
"""Rows that one prefix finds: a shorter prefix than a name's finds half a catalogue."""
_LAST = "\U0010ffff"


class SortedKeys:
    """Rows by their keys. Read only after construction; safe to share between threads."""

    def __init__(self, rows: Iterable[tuple[str, int]]) -> None:
        ordered = sorted(rows)
        self._keys = [key for key, _ in ordered]
        self._rows = [row for _, row in ordered]

    def beginning_with(self, prefix: str) -> list[int]:
        """Rows whose key begins with `prefix`, at most 200, in the order of their keys."""
        start = bisect_left(self._keys, prefix)
        stop = bisect_left(self._keys, prefix + _LAST, lo=start)
        return self._rows[start : min(stop, start + MOST)]
