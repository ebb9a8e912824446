"""/ops: what goes on in this process, for the people who run it, as one page and a stream of events.

It listens to calls only while somebody looks. Nothing personal is on it: turns, sessions and customers are hashes under a
key that ends with the process, and queries and orders do not appear.
"""

from __future__ import annotations

from server.application import Application
from server.config.settings import Settings
from server.transport.http.app import Addon


def open_ops(settings: Settings, app: Application, worker: int | None = None) -> Addon:
    """Returns the routes of the page /ops, none if the page is switched off. `worker` is the number of this process where
    several serve."""
    if not settings.ops:
        return Addon()
    # Imported here, so that a server without the page loads none of its modules.
    from server.ops.room import Room

    return Room(settings, app, worker)
