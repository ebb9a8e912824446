"""The operators' page of these settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.config.settings import Settings
from server.transport.http.connection import Beside

if TYPE_CHECKING:
    from server.application import Application


def open_ops(settings: Settings, app: Application, worker: int | None = None) -> Beside:
    """Returns the room, or an empty one where it is off. `worker` is this process's number among several."""
    if not settings.ops:
        return Beside()
    # Imported here: a server without the page does without what it is made of.
    from server.ops.room import Room

    return Room(settings, app, worker)
