"""Slots of which there are only so many, shared out among those who hold them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Generic, TypeVar

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext, authorization_context
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import Scope

from session.resilience.clocks import Clock

LOCAL = "local"


def holder_of(scope: Scope) -> str:
    """Names the proven principal. Where nobody has to prove anything it is the address a request comes from, and all of
    loopback is one: there the caller is the agent of the same task, which may use all there is."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return f"principal {user.access_token.client_id}"
    client = scope.get("client")
    return LOCAL if client is None or _loopback(client[0]) else f"address {client[0]}"


def owner_of(scope: Scope) -> AuthorizationContext | None:
    """Returns the proven principal as the SDK compares them, None where nobody has to prove anything."""
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


@lru_cache(maxsize=1024)
def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True  # a socket that is no address, such as a Unix one


@dataclass(slots=True, eq=False)
class Slot:
    """What takes one. `used` is set once it was put to use."""

    holder: str
    used: bool = False
    last_used: float = 0.0

    def busy(self) -> bool:
        """Tells whether something is under way in it, which would be lost."""
        return False


P = TypeVar("P", bound=Slot)


class Slots(Generic[P]):
    """At most `most`. A single holder may have them all. When there is no room for one more:

    - whoever holds more than the newcomer would gives up one of theirs, at once: the longest unused, and first one with
      nothing under way. Nobody keeps others out by taking everything (max-min fairness, in whole slots);
    - else the slot yields, whosever it is, that nothing was done in for `idle_seconds`, or `unused_seconds` if nothing
      ever was.
    """

    def __init__(self, most: int, unused_seconds: float, idle_seconds: float, clock: Clock = time.monotonic) -> None:
        self.most = most
        self._unused_seconds = unused_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._taken: dict[P, None] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def __contains__(self, slot: P) -> bool:
        return slot in self._taken

    def __iter__(self) -> Iterator[P]:
        return iter(list(self._taken))

    def is_open_to(self, holder: str) -> bool:
        return len(self._taken) < self.most or self._yielding(holder) is not None

    def take(self, slot: P) -> P | None:
        """Takes a slot. Returns the one that has to end for it, which is no longer counted. Raises `NoRoom`."""
        ended = None
        if len(self._taken) >= self.most:
            ended = self._yielding(slot.holder)
            if ended is None:
                raise NoRoom
            self.leave(ended)
        slot.last_used = self._clock()
        self._taken[slot] = None
        return ended

    def use(self, slot: P) -> None:
        slot.used, slot.last_used = True, self._clock()

    def leave(self, slot: P) -> None:
        self._taken.pop(slot, None)

    def _yielding(self, newcomer: str) -> P | None:
        held = Counter(slot.holder for slot in self._taken)
        largest, count = held.most_common(1)[0] if held else (newcomer, 0)
        if count > held[newcomer] + 1:
            theirs = (slot for slot in self._taken if slot.holder == largest)
            return min(theirs, key=lambda slot: (slot.busy(), slot.last_used))
        longest = min(self._taken, key=self._yields_at, default=None)
        return longest if longest is not None and self._yields_at(longest) <= self._clock() else None

    def _yields_at(self, slot: P) -> float:
        return slot.last_used + (self._idle_seconds if slot.used else self._unused_seconds)


class NoRoom(Exception):
    """Every slot is taken, and nobody has to yield."""


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
