"""The failures of the session's memory: none is the caller's fault, and none stops a call."""

from __future__ import annotations

from typing import ClassVar


class SessionFailure(Exception):
    """Base of this package's failures. `name` is the outcome of its span, in the words of the wire contract."""

    name: ClassVar[str] = "DEPENDENCY_FAILURE"


class MemoryUnavailable(SessionFailure):
    """Redis did not answer in time, refused, or is not connected. The message carries no address."""


class Unanswered(MemoryUnavailable):
    """The commands were sent and may have taken effect."""


class MemoryCircuitOpen(MemoryUnavailable):
    """Redis's circuit breaker is open."""

    name = "CIRCUIT_OPEN"


class NodeUnavailable(MemoryUnavailable):
    """One node of a cluster is away; the others are well."""


class NodeUnanswered(NodeUnavailable, Unanswered):
    """One node of a cluster was lost during a trip."""


OF_REDIS_ITSELF = frozenset(
    ("LOADING", "MASTERDOWN", "READONLY", "OOM", "BUSY", "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH")
)
"""Error codes about the state of Redis itself (Redis, `src/server.c`, `createSharedObjects`)."""


class MemoryRefused(SessionFailure):
    """Redis answered with an error."""

    @property
    def of_redis_itself(self) -> bool:
        """True for errors about Redis itself; others concern one command or its keys (WRONGTYPE, CROSSSLOT, NOSCRIPT,
        NOPERM, ERR)."""
        return str(self).partition(" ")[0] in OF_REDIS_ITSELF
