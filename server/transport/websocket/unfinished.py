"""Messages of which only a part has come."""

from __future__ import annotations

from collections.abc import Hashable


class Unfinished:
    """Bytes of them, at most `most` together; a single one may hold as much of that as is left over, so that there is always
    room for one more (as `server.transport.http.bounds.bodies` shares out what it reads)."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._held: dict[Hashable, int] = {}

    def hold(self, whose: Hashable, size: int) -> bool:
        """Counts what has come. Returns False when that is more than its share."""
        self._held[whose] = self._held.get(whose, 0) + size
        self._room -= size
        return self._held[whose] <= self._room

    def release(self, whose: Hashable) -> None:
        self._room += self._held.pop(whose, 0)
