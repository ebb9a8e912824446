"""Loading on a thread beside an event loop that answers calls."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
