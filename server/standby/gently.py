"""Loading on a thread beside an event loop that answers calls."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter from the others; Python's own 0.005 each turn of the loop would wait."""


@asynccontextmanager
async def gently() -> AsyncIterator[None]:
    """While it lasts, other threads give the interpreter back ten times as soon, and the garbage collector rests: a round
    through a catalogue that is half loaded finds nothing and stops everything for long. Afterwards what was loaded is taken
    out of its rounds, as at the start of the server; it is freed by its counts all the same when nobody uses it any more."""
    usual, collecting = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        sys.setswitchinterval(usual)
        if collecting:
            gc.enable()


def give_memory_back() -> None:
    """Has glibc return to the system what is free in pieces (malloc_trim(3)); some ten megabytes after a catalogue that was
    replaced. Elsewhere this does nothing. Blocking, without the interpreter."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
