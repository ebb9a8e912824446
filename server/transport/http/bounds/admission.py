"""What a message has to pass before the SDK sees it, whichever transport brought it."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Scope

from server.transport.extensions import NO_EXTENSIONS, Extensions
from server.transport.http.bounds.holders import holder_of
from server.transport.http.bounds.posted import Posted
from server.transport.http.bounds.subscriptions import FULL, METHOD, Subscriptions
from server.transport.http.responses import busy, plain

MOST_BYTES = 32 * 1024
"""Of a message that is no call: a token, baggage and what a client says of itself. Only arguments are ever longer."""


class Admission:
    """Refuses what is too long for what it is, and one subscription too many. `extensions` are those that an introduction
    may name to some purpose."""

    def __init__(self, subscriptions: Subscriptions, extensions: Extensions = NO_EXTENSIONS) -> None:
        self._subscriptions = subscriptions
        self.extensions = extensions

    def refusal(self, scope: Scope, posted: Posted) -> Response | None:
        """Returns what to answer instead of letting the message in; None when it may pass."""
        if posted.method == "tools/call":
            return None
        if posted.size > MOST_BYTES:
            return plain(413, f"A message that is no call has at most {MOST_BYTES} bytes.")
        if posted.method == METHOD and not self._subscriptions.is_open_to(holder_of(scope)):
            return busy(FULL)
        return None
