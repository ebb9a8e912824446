"""Failures of the session memory in Redis. Callers cannot cause them, and calls continue without the memory."""

from __future__ import annotations

from typing import ClassVar


class SessionFailure(Exception):
    """Base class of this package's failures. `name` is the outcome recorded on the span."""

    name: ClassVar[str] = "DEPENDENCY_FAILURE"


class MemoryUnavailable(SessionFailure):
    """Redis cannot be used: it is not connected, did not answer in time, returned an error (from `GuardedRedis`), or holds
    unreadable data. The message has no address."""


class Unanswered(MemoryUnavailable):
    """The connection ended, or the time was over, after the commands were sent: they may have taken effect."""


class MemoryCircuitOpen(MemoryUnavailable):
    name = "CIRCUIT_OPEN"


class NodeUnavailable(MemoryUnavailable):
    """A cluster node that the commands need is not connected, but another primary is. The circuit breaker ignores it."""


class NodeUnanswered(NodeUnavailable, Unanswered):
    """A cluster node was lost during a round trip, which may have taken effect, while another primary is connected."""


SERVER_STATE_ERRORS = frozenset(
    ("LOADING", "MASTERDOWN", "READONLY", "OOM", "BUSY", "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH")
)
"""Codes of errors about the state of Redis, not about one command (Redis, `src/server.c` and `src/cluster.c`)."""


class MemoryRefused(SessionFailure):
    """An error reply. `KeyValue.trip` returns it, with Redis's text, in place of a reply; connecting and `ping` raise it."""

    @property
    def of_redis_itself(self) -> bool:
        """True for errors about the state of Redis; False for those about one command or its keys, such as WRONGTYPE."""
        return str(self).partition(" ")[0] in SERVER_STATE_ERRORS
