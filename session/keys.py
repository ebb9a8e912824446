"""Names of keys and channels in Redis (the standby catalogue has its own). They contain user ids only as hashes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

PREFIX = "manga:mcp"
FLEET_KEY = f"{PREFIX}:fleet:1:key"
"""The Redis key of the secret that all processes share if MANGA_FLEET_KEY is not set."""
CHANGES = f"{PREFIX}:changes:1"
"""The channel of change messages; the number is the version of their format."""


def flags(source: str) -> str:
    """Returns the key of the last valid flags document from a URL. `source` is hashed, since it may contain a secret."""
    return f"{PREFIX}:flags:1:{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:22]}"


def relay(process: str) -> str:
    """Returns the channel on which other processes relay requests to `process`."""
    return f"{PREFIX}:relay:1:{{{process}}}"


def relay_alive(process: str) -> str:
    """Returns the key that `process` keeps from expiring while it lives."""
    return f"{relay(process)}:alive"


def relay_message(process: str, name: str) -> str:
    """Returns the key for a relayed message that is too large for the channel of `process`."""
    return f"{relay(process)}:message:{name}"


@lru_cache
def user_hash(user: str | None) -> str:
    """Returns 22 hex digits (88 bits) that identify a user in keys and logs; "anonymous" for None."""
    if user is None:
        return "anonymous"
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:22]


class SessionKeys(NamedTuple):
    """Redis keys of one session and user. `results` is the key of the full results of shortened answers."""

    base: str
    history: str
    turns: str
    results: str

    @classmethod
    def of(cls, session: str, user: str | None) -> SessionKeys:
        """Makes the keys for a user, None if anonymous. The braces in them put all keys into one cluster slot."""
        base = f"{PREFIX}:session:{{{session}}}:{user_hash(user)}"
        return cls(base, f"{base}:calls", f"{base}:turns", f"{base}:whole")


def sessionless_turn(user: str, turn: str) -> tuple[str, str]:
    """Returns the keys of a user's named turn without a session, as `SessionKeys.base` (never written) and `turns`."""
    base = f"{PREFIX}:turn:{{{user_hash(user)}:{turn}}}"
    return base, f"{base}:turns"


def owner(session: str, user: str | None) -> str:
    """Returns 26 hex digits (104 bits) by which change messages refer to a session and its user without naming them."""
    return hashlib.sha256(f"{session}:{user_hash(user)}".encode("utf-8", "surrogatepass")).hexdigest()[:26]


def caller(user: str | None, session: str | None) -> str | None:
    """Returns the name of a caller in this process's rate limits: by user, else by session; None without both."""
    if user is not None:
        return f"user:{user_hash(user)}"
    return f"session:{session}" if session else None


def limit(user: str) -> str:
    return f"{PREFIX}:limit:{{{user_hash(user)}}}"


def preferences(user: str) -> str:
    """Returns the key of Redis's copy of a customer's stated preferences."""
    return f"{PREFIX}:preferences:{{{user_hash(user)}}}"


def cached_result(tool: str, form: str, digest: str) -> str:
    """Returns the key of a cached result. `form` hashes the shape of the tool's results: other shapes have other keys."""
    return f"{PREFIX}:cache:1-{form}:{tool}:{digest}"


def snapshot(name: str, form: str) -> str:
    """Returns the key of a snapshot. `form` hashes the snapshot's shape: other shapes have other keys."""
    return f"{PREFIX}:snapshot:1-{form}:{name}"


def result_set(name: str) -> str:
    return f"{PREFIX}:set:{name}"


def idempotency(user: str | None, session: str | None, key: str) -> str:
    """Returns the key of an idempotency record, unique to the user, or to the session of an anonymous caller."""
    owner = user_hash(user) if user is not None else f"session:{session}"
    return f"{PREFIX}:once:{{{owner}}}:{key}"
