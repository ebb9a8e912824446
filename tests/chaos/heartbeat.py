"""A beat a millisecond, which shows when the machine did not let this process run.

A late beat alone excuses nothing: the process may have been busy itself. What counts as a stall of the machine is time that
a thread was ready to run and had no processor, as Linux counts it (schedstat), of the event loop's thread or the beat's own:
over 20 ms of it at once, or within 50 ms in pieces.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

BEAT_SECONDS = 0.001
STALL_SECONDS = 0.02
WITHIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Stall:
    """Seconds of the monotonic clock, which all processes of a machine share."""

    since: float
    until: float

    def touches(self, since: float, until: float) -> bool:
        return self.since < until and since < self.until


class Kept:
    """For how long a thread of this process has been ready to run while something else had the processor."""

    def __init__(self, thread: int) -> None:
        self._file = os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY)

    def seconds(self) -> float:
        return int(os.pread(self._file, 64, 0).split()[1]) / 1e9


def beat(tell: Callable[[Stall], None]) -> None:
    """To be called in the event loop's thread. Beats until the process ends."""
    loop = threading.get_native_id()
    threading.Thread(target=_beat, args=(tell, loop), name="heartbeat", daemon=True).start()


def _beat(tell: Callable[[Stall], None], loop: int) -> None:
    watched = [Kept(loop), Kept(threading.get_native_id())]
    beats: deque[tuple[float, list[float]]] = deque([(time.monotonic(), [each.seconds() for each in watched])])
    while True:
        time.sleep(BEAT_SECONDS)  # the beat: what is measured is how late it comes
        now, kept = time.monotonic(), [each.seconds() for each in watched]
        since, before = beats[0]
        if max(new - old for new, old in zip(kept, before, strict=True)) > STALL_SECONDS:
            tell(Stall(since, now))
            beats.clear()  # told once
        beats.append((now, kept))
        while len(beats) > 1 and beats[1][0] < now - WITHIN_SECONDS:
            beats.popleft()
