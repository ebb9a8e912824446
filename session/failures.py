"""What can go wrong with memory. None of it is ever the caller's fault, and none of it may stop a call."""

from __future__ import annotations


class SessionFailure(Exception):
    """Base of the failures of this package."""


class MemoryUnavailable(SessionFailure):
    """Redis did not answer in time, refused, or is not connected. The message carries no address."""


class PartlyUnavailable(MemoryUnavailable):
    """A node of a cluster is known to be away, which cost no time and says nothing of the nodes that are there."""


class MemoryRefused(SessionFailure):
    """Redis answered with an error: a command or a script is wrong, or it is read-only, loading or out of memory."""
