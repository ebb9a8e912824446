"""A beat a millisecond, which shows for how long the machine did not let this process run.

A late beat alone excuses nothing: the process may have been busy itself. What counts is time that a thread was ready to run
and had no processor, as Linux counts it (schedstat), of the event loop's thread or the beat's own.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

BEAT_SECONDS = 0.001
SLOT_SECONDS = 0.01
LEAST_SECONDS = 0.0005
"""Of a slot; what is less is not told."""
STALL_SECONDS = 0.02
WITHIN_SLOTS = 5

Tell = Callable[[int, float], None]
"""Is told the number of a slot, and for how many of its seconds the process was held up."""


class Held:
    """For how long the machine held a process up, by slots of the monotonic clock, which all processes of a machine share."""

    def __init__(self, slots: Mapping[int, float]) -> None:
        self._slots = slots

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Held:
        """Of what `beat` told."""
        return cls({each["slot"]: each["seconds"] for each in lines})

    def __or__(self, other: Held) -> Held:
        """Of two processes that wait for one another: of each slot the longer time."""
        return Held({slot: max(self._of(slot), other._of(slot)) for slot in {*self._slots, *other._slots}})

    def seconds(self, since: float, until: float) -> float:
        return sum(min(self._of(slot), length) for slot, length in _slots_of(since, until))

    def share(self, since: float, until: float) -> float:
        """Tells for how much of the time it was held up by over 20 ms in 50."""
        slots = range(int(since / SLOT_SECONDS), int(until / SLOT_SECONDS) + 1, WITHIN_SLOTS)
        held = [sum(map(self._of, range(first, first + WITHIN_SLOTS))) > STALL_SECONDS for first in slots]
        return sum(held) / len(held)

    def _of(self, slot: int) -> float:
        return self._slots.get(slot, 0.0)


def _slots_of(since: float, until: float) -> Iterator[tuple[int, float]]:
    """The slots that a time touches, with its length in each."""
    for slot in range(int(since / SLOT_SECONDS), int(until / SLOT_SECONDS) + 1):
        begin = slot * SLOT_SECONDS
        yield slot, max(0.0, min(until, begin + SLOT_SECONDS) - max(since, begin))


class Kept:
    """For how long a thread of this process has been ready to run while something else had the processor."""

    def __init__(self, thread: int) -> None:
        self._file = os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY)

    def seconds(self) -> float:
        return int(os.pread(self._file, 64, 0).split()[1]) / 1e9


def beat(tell: Tell) -> None:
    """To be called in the event loop's thread. Beats until the process ends."""
    loop = threading.get_native_id()
    threading.Thread(target=_beat, args=(tell, loop), name="heartbeat", daemon=True).start()


def _beat(tell: Tell, loop: int) -> None:
    watched = [Kept(loop), Kept(threading.get_native_id())]
    before, had = time.monotonic(), [each.seconds() for each in watched]
    slots: defaultdict[int, float] = defaultdict(float)
    while True:
        time.sleep(BEAT_SECONDS)  # the beat: what is measured is how late it comes
        now, kept = time.monotonic(), [each.seconds() for each in watched]
        held = min(1.0, max(new - old for new, old in zip(kept, had, strict=True)) / (now - before))
        for slot, length in _slots_of(before, now):
            slots[slot] += held * length
        for slot in [each for each in slots if each < int(now / SLOT_SECONDS)]:
            if (seconds := slots.pop(slot)) > LEAST_SECONDS:
                tell(slot, seconds)
        before, had = now, kept
