"""On which sessions of Streamable HTTP there is a stream to hear on: the GET that a client opens once it is ready, and again
whenever it was cut."""

from __future__ import annotations

from mcp.server.connection import Connection

from server.transport.changes.notifier import Notifier


class SessionStreams:
    """A connection that is no such session has its one stream for as long as it lasts."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._notifiers: dict[str, Notifier] = {}

    @property
    def open(self) -> int:
        """How many sessions have a stream now."""
        return len(self._open)

    def notifier(self, connection: Connection) -> Notifier:
        """Makes the one that tells this connection."""
        name = connection.session_id
        if name is None:
            return Notifier(connection)
        self._notifiers[name] = Notifier(connection, hears=name in self._open)
        return self._notifiers[name]

    def leave(self, connection: Connection) -> None:
        if connection.session_id is not None:
            self._notifiers.pop(connection.session_id, None)

    def opened(self, session: str) -> None:
        """Its client listens from now on, and is told of what it has missed."""
        self._open.add(session)
        self._tell(session, hears=True)

    def closed(self, session: str) -> None:
        self._open.discard(session)
        self._tell(session, hears=False)

    def _tell(self, session: str, *, hears: bool) -> None:
        if (notifier := self._notifiers.get(session)) is not None:
            notifier.listen(hears)
