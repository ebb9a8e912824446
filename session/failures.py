"""What can go wrong with memory. None of it is ever the caller's fault, and none of it may stop a call."""

from __future__ import annotations

from typing import ClassVar


class SessionFailure(Exception):
    """Base of the failures of this package. `name` is what a timeline calls it, in the words of the wire contract."""

    name: ClassVar[str] = "DEPENDENCY_FAILURE"


class MemoryUnavailable(SessionFailure):
    """Redis did not answer in time, refused, or is not connected. The message carries no address."""


class Unanswered(MemoryUnavailable):
    """What was asked of Redis was sent, and may have been done."""


class MemoryCircuitOpen(MemoryUnavailable):
    """Redis is not asked, because its breaker is open."""

    name = "CIRCUIT_OPEN"


class NodeUnavailable(MemoryUnavailable):
    """A node of a cluster is known to be away, which cost no time and says nothing of the nodes that are there."""


class NodeUnanswered(NodeUnavailable, Unanswered):
    """A node of a cluster was lost while it was asked."""


OF_REDIS_ITSELF = frozenset(
    ("LOADING", "MASTERDOWN", "READONLY", "OOM", "BUSY", "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH")
)
"""The codes of error replies that whoever asks gets, whatever they ask (Redis, `src/server.c`, `createSharedObjects`)."""


class MemoryRefused(SessionFailure):
    """Redis answered with an error: a command or a script is wrong, or it is read-only, loading or out of memory."""

    @property
    def of_redis_itself(self) -> bool:
        """Whether this is about the state of Redis. Every other refusal is about one command or its keys (WRONGTYPE,
        CROSSSLOT, NOSCRIPT, NOPERM, ERR): it came in time, and the next command may be welcome."""
        return str(self).partition(" ")[0] in OF_REDIS_ITSELF
