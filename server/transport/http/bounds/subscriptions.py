"""Subscriptions of the 2026 era: streams that a client opens to hear of changes, and that have no end by themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from server.transport.http.bounds.holders import LOCAL, holder_of
from server.transport.http.bounds.slots import NoRoom, Slot, Slots

METHOD = "subscriptions/listen"
MOST_SUBSCRIPTIONS = 1024
MOST_URIS = 64
LONGEST_URI = 256
"""What a subscription names is kept for as long as it lasts: 16 KB."""
ASK_FOR_LESS = f"A subscription names at most {MOST_URIS} resources, each with at most {LONGEST_URI} characters."
FULL = "There are as many subscriptions as this server keeps."


@dataclass(slots=True, eq=False, kw_only=True)
class _Subscription(Slot):
    """To close its `handler` ends it."""

    handler: ListenHandler


class Subscriptions:
    """Each has a handler of the SDK's for itself, so that one can be ended as the protocol wants it ended: with a result.

    A subscription may be silent for as long as it likes; it yields only to somebody who holds fewer."""

    def __init__(self, most: int = MOST_SUBSCRIPTIONS, tells: Callable[[str], bool] = lambda uri: True) -> None:
        """`tells` of which addresses anybody is told."""
        self._tells = tells
        self._slots: Slots[_Subscription] = Slots(most, math.inf, math.inf)

    def __len__(self) -> int:
        return len(self._slots)

    def is_open_to(self, holder: str) -> bool:
        return self._slots.is_open_to(holder)

    async def serve(
        self,
        ctx: ServerRequestContext[Any, Request],
        params: types.SubscriptionsListenRequestParams,
        bus: SubscriptionBus,
    ) -> types.SubscriptionsListenResult:
        """Passes on what `bus` tells this subscriber, until either ends it."""
        honoured = self._honoured(params)
        holder = holder_of(ctx.request.scope) if ctx.request is not None else LOCAL
        subscription = _Subscription(holder=holder, handler=ListenHandler(bus, max_subscriptions=1))
        try:
            ended = self._slots.take(subscription)
        except NoRoom:
            raise MCPError(types.INTERNAL_ERROR, FULL) from None  # where HTTP has not said 503 before
        if ended is not None:
            ended.handler.close()
        try:
            return await subscription.handler(ctx, honoured)
        finally:
            self._slots.leave(subscription)

    def _honoured(self, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenRequestParams:
        """What is acknowledged of it. Raises for more than is kept."""
        uris = params.notifications.resource_subscriptions or ()
        if len(uris) > MOST_URIS or any(len(uri) > LONGEST_URI for uri in uris):
            raise MCPError(types.INVALID_PARAMS, ASK_FOR_LESS)
        told = {"resource_subscriptions": [uri for uri in uris if self._tells(uri)]}
        return params.model_copy(update={"notifications": params.notifications.model_copy(update=told)})

    def close(self) -> None:
        """Ends all of them; each is told so by its own task."""
        for subscription in self._slots:
            subscription.handler.close()
