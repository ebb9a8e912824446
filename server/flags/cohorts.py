"""Who belongs to a share: by hash, so that every process and every version says the same and nothing has to be kept.

Whoever is in a share is in every larger one, since each key has one place between 0 and 100 and a share is all below it.
Nothing but the flag and the key is hashed: no other fact about a caller can move anybody.
"""

from __future__ import annotations

import hashlib

WHOLE = 2**32


def cohort_key(user: str | None, session: str | None) -> str | None:
    """Whom a share is about: the verified user, else the session. None for a caller of whom neither is known."""
    if user is not None:
        return user
    return f"\0{session}" if session is not None else None


def place(flag: str, key: str) -> float:
    """Places a key between 0 and 100, evenly over keys, in another order for each flag."""
    hashed = hashlib.sha256(f"{flag}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:4], "big") / WHOLE * 100


def in_share(flag: str, key: str | None, percent: float) -> bool:
    """Tells whether a key belongs to the first `percent`, 0 to 100. Who has no key is in the whole alone."""
    return percent >= 100 or (key is not None and place(flag, key) < percent)
