"""What may happen beside the events of the SDK's."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from mcp.server.subscriptions import ResourceUpdated, ServerEvent


@dataclass(frozen=True)
class OwnUpdated(ResourceUpdated):
    """A resource reads differently for one session and user, by their hash (`session.keys.owner`), and for nobody else."""

    owner: str


def as_heard_by(event: ServerEvent, owners: AbstractSet[str | None]) -> ServerEvent | None:
    """The event as a client that listens for these owners is told it; None where it is not for it to hear."""
    if isinstance(event, OwnUpdated):
        return ResourceUpdated(event.uri) if event.owner in owners else None
    return event
