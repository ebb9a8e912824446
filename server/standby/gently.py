"""Loading on a thread beside an event loop that answers calls."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter from the others; Python's own 0.005 each turn of the loop would wait."""

NEVER = 2**31 - 1
YOUNG = 1
"""What is older than a few rounds is not looked at."""


@asynccontextmanager
async def gently() -> AsyncIterator[None]:
    """While it lasts, other threads give the interpreter back ten times as soon, and the garbage collector looks at young
    objects alone: a round through a catalogue that is half loaded finds nothing and stops everything for long. Afterwards
    what was loaded is taken out of its rounds, as at the start of the server, without the garbage that calls have left
    meanwhile; it is freed by its counts all the same when nobody uses it any more."""
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*thresholds[:2], NEVER)
    try:
        yield
        gc.collect(YOUNG)
        gc.freeze()
    finally:
        sys.setswitchinterval(usual)
        gc.set_threshold(*thresholds)


def give_memory_back() -> None:
    """Has glibc return to the system what is free in pieces (malloc_trim(3)); some ten megabytes after a catalogue that was
    replaced. Elsewhere this does nothing. Blocking, without the interpreter."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
