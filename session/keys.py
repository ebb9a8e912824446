"""The names under which things are remembered: one place, so that nothing collides and no raw user is part of a name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

PREFIX = "manga:mcp"
ANONYMOUS = "anonymous"
FLEET_KEY = f"{PREFIX}:fleet:1:key"
"""Of the key that the processes share, where none is configured."""
CHANGES = f"{PREFIX}:changes:1"
"""The channel on which the processes tell one another of changes; its number is that of the messages' form."""


def flags(source: str) -> str:
    """Of the last good flags document of that source, whose address may hold a key."""
    return f"{PREFIX}:flags:1:{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:22]}"


def relay(process: str) -> str:
    """The channel of one process, on which others pass requests on to it."""
    return f"{PREFIX}:relay:1:{{{process}}}"


def relay_alive(process: str) -> str:
    """Is there as long as that process lives."""
    return f"{relay(process)}:alive"


def relay_message(process: str, name: str) -> str:
    """Of a message to that process which is too large for a channel."""
    return f"{relay(process)}:message:{name}"


@lru_cache(maxsize=4096)
def user_hash(user: str | None) -> str:
    """22 hex digits (88 bits) that stand for a user wherever one becomes part of a key or a log line."""
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
        """Of the whole results behind shortened ones."""
        return f"{self.base}:whole"

    def all(self) -> tuple[str, ...]:
        return (self.base, self.history, self.turns, self.results)


def sessionless_turn(user: str, turn: str) -> tuple[str, str]:
    """Keys for a named turn of a caller without a session: only the second is ever written."""
    base = f"{PREFIX}:turn:{{{user_hash(user)}:{turn}}}"
    return base, f"{base}:turns"


def owner(session: str, user: str | None) -> str:
    """A hash of whose session something is, for who listens to it: 26 hex digits, 104 bits."""
    named = f"{session}:{user_hash(user)}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:26]


def caller(user: str | None, session: str | None) -> str | None:
    """Whom a limit in the process is about: the user, else the session. None for somebody of whom nothing is known."""
    if user is not None:
        return f"user:{user_hash(user)}"
    return f"session:{session}" if session else None


def limit(user: str) -> str:
    return f"{PREFIX}:limit:{{{user_hash(user)}}}"


def preferences(user: str) -> str:
    """Of the copy of what a customer has asked to be remembered."""
    return f"{PREFIX}:preferences:{{{user_hash(user)}}}"


def cached_result(tool: str, form: str, digest: str) -> str:
    """`form` stands for what the tool's results look like: a process of another version neither reads nor writes these."""
    return f"{PREFIX}:cache:1-{form}:{tool}:{digest}"


def snapshot(name: str, form: str) -> str:
    """`form` stands for the shape of what is kept: one who knows another shape does not find it."""
    return f"{PREFIX}:snapshot:1-{form}:{name}"


def result_set(name: str) -> str:
    return f"{PREFIX}:set:{name}"


def idempotency(user: str | None, session: str | None, key: str) -> str:
    """By user; anonymous callers share nothing but their session."""
    owner = user_hash(user) if user is not None else f"session:{session}"
    return f"{PREFIX}:once:{{{owner}}}:{key}"
