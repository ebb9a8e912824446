"""/ops: the state and activity of this process for its operators, as a page and a stream of events.

Calls are observed only while a page is open, and for three seconds after. The page shows no personal data: turns, sessions
and customers appear as hashes with a key of this process, and queries and orders are left out."""

from __future__ import annotations

from server.application import Application
from server.config.settings import Settings
from server.transport.http.app import Addon


def open_ops(settings: Settings, app: Application, worker: int | None = None) -> Addon:
    """Returns the addon of /ops, without routes if it is switched off. `worker` is this process's number among several.
    Raises `OSError` or `ValueError` if the page cannot be assembled."""
    if not settings.ops:
        return Addon()
    # Imported here, so that a server without the page does not load its modules.
    from server.ops.room import OpsAddon

    return OpsAddon(settings, app, worker)
