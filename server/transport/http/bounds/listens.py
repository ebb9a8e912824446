"""Subscriptions of the 2026 era: streams that a client opens to hear of changes, and that have no end by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from server.transport.http.bounds.holders import LOCAL, holder_of
from server.transport.http.bounds.places import NoRoom, Place, Places

METHOD = "subscriptions/listen"
MOST_LISTENS = 1024
MOST_URIS = 64
LONGEST_URI = 256
"""What a subscription names is kept for as long as it lasts: 16 KB."""
ASK_FOR_LESS = f"A subscription names at most {MOST_URIS} resources, each with at most {LONGEST_URI} characters."
FULL = "There are as many subscriptions as this server keeps."


@dataclass(slots=True, eq=False, kw_only=True)
class _Listen(Place):
    handler: ListenHandler


class Listens:
    """Each has a handler of the SDK's for itself, so that one can be ended as the protocol wants it ended: with a result.

    A subscription may be silent for as long as it likes; it yields only to somebody who holds fewer."""

    def __init__(self, bus: SubscriptionBus, most: int = MOST_LISTENS) -> None:
        self._bus = bus
        self._places: Places[_Listen] = Places(most, math.inf, math.inf)

    def __len__(self) -> int:
        return len(self._places)

    def is_open_to(self, holder: str) -> bool:
        return self._places.is_open_to(holder)

    async def __call__(
        self, ctx: ServerRequestContext[Any, Request], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or ()
        if len(uris) > MOST_URIS or any(len(uri) > LONGEST_URI for uri in uris):
            raise MCPError(types.INVALID_PARAMS, ASK_FOR_LESS)
        holder = holder_of(ctx.request.scope) if ctx.request is not None else LOCAL
        listen = _Listen(holder=holder, handler=ListenHandler(self._bus, max_subscriptions=1))
        try:
            ended = self._places.take(listen)
        except NoRoom:
            raise MCPError(types.INTERNAL_ERROR, FULL) from None  # where HTTP has not said 503 before
        if ended is not None:
            ended.handler.close()
        try:
            return await listen.handler(ctx, params)
        finally:
            self._places.leave(listen)

    def close(self) -> None:
        """Ends all of them; each is told so by its own task."""
        for listen in self._places:
            listen.handler.close()
