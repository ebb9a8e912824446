"""All keys and channels in Redis. No raw user is part of one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

PREFIX = "manga:mcp"
ANONYMOUS = "anonymous"
FLEET_KEY = f"{PREFIX}:fleet:1:key"
"""The secret that processes share, where none is configured."""
CHANGES = f"{PREFIX}:changes:1"
"""The channel of changes; its number is the version of the messages."""


def flags(source: str) -> str:
    """The key of the last good flags document of a source, whose address may hold a secret."""
    return f"{PREFIX}:flags:1:{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:22]}"


def relay(process: str) -> str:
    """The channel on which others relay requests to a process."""
    return f"{PREFIX}:relay:1:{{{process}}}"


def relay_alive(process: str) -> str:
    """The key that exists as long as that process lives."""
    return f"{relay(process)}:alive"


def relay_message(process: str, name: str) -> str:
    """The key of a message to that process that is too large for its channel."""
    return f"{relay(process)}:message:{name}"


@lru_cache(maxsize=4096)
def user_hash(user: str | None) -> str:
    """22 hex digits (88 bits) that stand for a user in keys and logs."""
    if user is None:
        return ANONYMOUS
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:22]


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """All keys of one session for one user. The braces keep them in one cluster slot."""

    session: str
    user: str | None

    @property
    def base(self) -> str:
        return f"{PREFIX}:session:{{{self.session}}}:{user_hash(self.user)}"

    @property
    def history(self) -> str:
        return f"{self.base}:calls"

    @property
    def turns(self) -> str:
        return f"{self.base}:turns"

    @property
    def results(self) -> str:
        """The key of the whole results behind shortened ones."""
        return f"{self.base}:whole"

    def all(self) -> tuple[str, ...]:
        return (self.base, self.history, self.turns, self.results)


def sessionless_turn(user: str, turn: str) -> tuple[str, str]:
    """Keys of a named turn of a user without a session; only the second is written."""
    base = f"{PREFIX}:turn:{{{user_hash(user)}:{turn}}}"
    return base, f"{base}:turns"


def owner(session: str, user: str | None) -> str:
    """26 hex digits (104 bits) that stand for one user's session among listeners."""
    return hashlib.sha256(f"{session}:{user_hash(user)}".encode("utf-8", "surrogatepass")).hexdigest()[:26]


def caller(user: str | None, session: str | None) -> str | None:
    """The caller that a limit in the process counts for: the user, else the session; None for neither."""
    if user is not None:
        return f"user:{user_hash(user)}"
    return f"session:{session}" if session else None


def limit(user: str) -> str:
    return f"{PREFIX}:limit:{{{user_hash(user)}}}"


def preferences(user: str) -> str:
    """The key of the copy of a customer's stated preferences."""
    return f"{PREFIX}:preferences:{{{user_hash(user)}}}"


def cached_result(tool: str, form: str, digest: str) -> str:
    """The key of a cached result. `form` is a hash of the shape of the tool's results: other versions use other keys."""
    return f"{PREFIX}:cache:1-{form}:{tool}:{digest}"


def snapshot(name: str, form: str) -> str:
    """The key of a snapshot. `form` names its shape: processes with another shape use other keys."""
    return f"{PREFIX}:snapshot:1-{form}:{name}"


def result_set(name: str) -> str:
    return f"{PREFIX}:set:{name}"


def idempotency(user: str | None, session: str | None, key: str) -> str:
    """The key of an idempotency record, by user; anonymous callers share only their session."""
    owner = user_hash(user) if user is not None else f"session:{session}"
    return f"{PREFIX}:once:{{{owner}}}:{key}"
