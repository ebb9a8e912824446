"""Slots of which there are only so many, shared out among those who hold them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from session.resilience.clocks import Clock


@dataclass(slots=True, eq=False)
class Slot:
    """What takes one. `used` is set once it was put to use."""

    holder: str
    used: bool = False
    last_used: float = 0.0

    def busy(self) -> bool:
        """Tells whether something is under way in it, which would be lost."""
        return False


P = TypeVar("P", bound=Slot)


class Slots(Generic[P]):
    """At most `most`. A single holder may have them all. When there is no room for one more:

    - whoever holds more than the newcomer would gives up one of theirs, at once: the longest unused, and first one with
      nothing under way. Nobody keeps others out by taking everything (max-min fairness, in whole slots);
    - else the slot yields, whosever it is, that nothing was done in for `idle_seconds`, or `unused_seconds` if nothing
      ever was.
    """

    def __init__(self, most: int, unused_seconds: float, idle_seconds: float, clock: Clock = time.monotonic) -> None:
        self.most = most
        self._unused_seconds = unused_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._taken: dict[P, None] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def __contains__(self, slot: P) -> bool:
        return slot in self._taken

    def __iter__(self) -> Iterator[P]:
        return iter(list(self._taken))

    def is_open_to(self, holder: str) -> bool:
        return len(self._taken) < self.most or self._yielding(holder) is not None

    def take(self, slot: P) -> P | None:
        """Takes a slot. Returns the one that has to end for it, which is no longer counted. Raises `NoRoom`."""
        ended = None
        if len(self._taken) >= self.most:
            ended = self._yielding(slot.holder)
            if ended is None:
                raise NoRoom
            self.leave(ended)
        slot.last_used = self._clock()
        self._taken[slot] = None
        return ended

    def use(self, slot: P) -> None:
        slot.used, slot.last_used = True, self._clock()

    def leave(self, slot: P) -> None:
        self._taken.pop(slot, None)

    def _yielding(self, newcomer: str) -> P | None:
        held = Counter(slot.holder for slot in self._taken)
        largest, count = held.most_common(1)[0] if held else (newcomer, 0)
        if count > held[newcomer] + 1:
            theirs = (slot for slot in self._taken if slot.holder == largest)
            return min(theirs, key=lambda slot: (slot.busy(), slot.last_used))
        longest = min(self._taken, key=self._yields_at, default=None)
        return longest if longest is not None and self._yields_at(longest) <= self._clock() else None

    def _yields_at(self, slot: P) -> float:
        return slot.last_used + (self._idle_seconds if slot.used else self._unused_seconds)


class NoRoom(Exception):
    """Every slot is taken, and nobody has to yield."""
