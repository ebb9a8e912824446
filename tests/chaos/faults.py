"""Everything that is done to a backend, as values. What a value means in bytes is the proxy's business."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Said(StrEnum):
    """What is answered in the backend's place, in its own protocol."""

    BROKEN = "broken"
    THROTTLED = "throttled"
    NONSENSE = "nonsense"


class Deed(StrEnum):
    """What is done to the backend's own process."""

    PAUSED = "paused"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Fault:
    """`dark`: nothing useful comes through, so that whoever claims to have an answer of this backend's is lying.

    `delay` and `jitter` are shares of what the backend's callers would call slow; `passes` are the bytes of an answer that
    come through before it hangs; `drip` are the seconds that each byte takes.
    """

    name: str
    about: str
    dark: bool = True
    delay: float = 0.0
    jitter: float = 0.0
    passes: int | None = None
    drip: float = 0.0
    resets: bool = False
    listens: bool = True
    says: Said | None = None
    deed: Deed | None = None
    lookup_seconds: float | None = None
    clock_step: int = 0


NONE = Fault("none", "as it should be", dark=False)
LATENCY = Fault("latency", "every answer as late as it can be and still be of use", dark=False, delay=1.0)
JITTER = Fault("jitter", "some answers at once, some far too late", dark=False, jitter=3.0)
HANG = Fault("hang after accept", "connections are taken and nothing is answered", passes=0)
HANG_MID = Fault("hang mid-response", "an answer begins and does not go on", passes=240)
REFUSED = Fault("refused", "the port is closed", listens=False)
RESET = Fault("reset", "connections are reset at the first byte", resets=True)
BROKEN = Fault("5xx", "the backend's own words for being broken (503, 500, -LOADING)", says=Said.BROKEN)
THROTTLED = Fault("throttled", "the backend's own words for too many (429, ThrottlingException, -BUSY)", says=Said.THROTTLED)
NONSENSE = Fault("malformed", "bytes that are no protocol, JSON that ends early or says something else", says=Said.NONSENSE)
DRIP = Fault("slow drip", "a byte every 50 ms", drip=0.05)
PAUSED = Fault(
    "SIGSTOP", "the backend's process is stopped: connections stay open, half of them half-open", deed=Deed.PAUSED
)
KILLED = Fault("kill -9", "the backend's process is killed, and started again at the end", deed=Deed.KILLED)
NO_NAME = Fault(
    "no such name", "its name is not known any more, and its connections are gone", listens=False, lookup_seconds=0.0
)
NO_LOOKUP = Fault("lookup hangs", "the name server says nothing for 4 s, then fails", listens=False, lookup_seconds=4.0)
AHEAD = Fault("clock +10 s", "Redis's clock jumps 10 seconds ahead, and back at the end", dark=False, clock_step=10)
FAR_AHEAD = Fault("clock +1 h", "Redis's clock jumps an hour ahead, and back at the end", dark=False, clock_step=3600)
BEHIND = Fault("clock -1 h", "Redis's clock jumps an hour back, and ahead at the end", dark=False, clock_step=-3600)

EVERYWHERE = (
    LATENCY,
    JITTER,
    HANG,
    HANG_MID,
    REFUSED,
    RESET,
    BROKEN,
    THROTTLED,
    NONSENSE,
    DRIP,
    PAUSED,
    NO_NAME,
    NO_LOOKUP,
    KILLED,
)
CLOCKS = (AHEAD, FAR_AHEAD, BEHIND)
