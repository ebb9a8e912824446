"""A limited number of slots, shared fairly among holders; and MCP subscriptions, each of which takes a slot."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Generic, TypeVar

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import Scope

from server.transport.changes import LONGEST_URI, MOST_URIS
from session.resilience.clocks import Clock

LOCAL = "local"
STATED_IN_HEADERS = (b"x-user-id", b"x-session-id", b"mcp-session-id")
LONGEST_CUSTOMER = 512
METHOD = "subscriptions/listen"
FULL = "There are as many subscriptions as this server keeps."


def holder_of(scope: Scope) -> str:
    """Returns the holder of a request's slots: the authenticated principal, else the client's address. All loopback
    addresses are one holder, the agent on this host."""
    if (principal := principal_of(scope)) is not None:
        return f"principal {principal}"
    client = scope.get("client")
    return LOCAL if client is None or _loopback(client[0]) else f"address {client[0]}"


def customer_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns the user or session stated in the headers, else b"". Unverified: it only divides a holder's slots."""
    stated = {name: value for name, value in headers if name in STATED_IN_HEADERS}
    return next((stated[name][:LONGEST_CUSTOMER] for name in STATED_IN_HEADERS if name in stated), b"")


def principal_of(scope: Scope) -> str | None:
    """Returns the principal that the HTTP middleware authenticated; None without authentication."""
    user = scope.get("user")
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else None


@lru_cache(maxsize=1024)
def user_of(principal: str) -> AuthenticatedUser:
    """Wraps the principal in the SDK's type, by which the SDK compares principals. The token is left out."""
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))


@lru_cache(maxsize=1024)
def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True  # not an IP address, such as a Unix socket


@dataclass(slots=True, eq=False)
class Slot:
    """A slot that a holder takes for one of its customers. `used` is True once the slot has served a request."""

    holder: str
    customer: bytes = b""
    used: bool = False
    last_used: float = 0.0

    def busy(self) -> bool:
        """Returns True if ending the slot now would interrupt running work."""
        return False


P = TypeVar("P", bound=Slot)


class Slots(Generic[P]):
    """At most `most` slots; one holder may take them all.

    If no slot is free, a new slot displaces a slot of the holder with the most slots. That holder must have more slots than
    the new slot's holder would have (max-min fairness). The same rule applies among the customers of one holder. Idle slots
    are displaced before busy ones, the least recently used first. If no holder or customer has too many slots, even a busy
    slot is displaced, if its last request came `idle_seconds` ago, or it was taken `unused_seconds` ago and had none."""

    def __init__(self, most: int, unused_seconds: float, idle_seconds: float, clock: Clock = time.monotonic) -> None:
        self.most = most
        self._unused_seconds = unused_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._taken: dict[P, None] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def __iter__(self) -> Iterator[P]:
        return iter(list(self._taken))

    def has_room_for(self, holder: str, customer: bytes = b"") -> bool:
        return len(self._taken) < self.most or self._find_displaced(holder, customer) is not None

    def take(self, slot: P) -> P | None:
        """Takes a slot, and returns the one it displaces, whose work the caller must end, or None. Raises `NoRoom`."""
        ended = None
        if len(self._taken) >= self.most:
            ended = self._find_displaced(slot.holder, slot.customer)
            if ended is None:
                raise NoRoom
            self.release(ended)
        slot.last_used = self._clock()
        self._taken[slot] = None
        return ended

    @contextmanager
    def holding(self, slot: P, end: Callable[[P], object]) -> Iterator[None]:
        """Holds a slot during the block. Calls `end` with the slot that it displaces, if any. Raises `NoRoom`."""
        if (ended := self.take(slot)) is not None:
            end(ended)
        try:
            yield
        finally:
            self.release(slot)

    def use(self, slot: P) -> None:
        slot.used, slot.last_used = True, self._clock()

    def release(self, slot: P) -> None:
        self._taken.pop(slot, None)

    def _find_displaced(self, holder: str, customer: bytes) -> P | None:
        held = Counter(slot.holder for slot in self._taken)
        largest = max(held, key=held.__getitem__, default=holder)
        others = held[largest] > held[holder] + 1
        slots = [slot for slot in self._taken if slot.holder == (largest if others else holder)]
        shares = Counter(slot.customer for slot in slots)
        if others or max(shares.values(), default=0) > shares[customer] + 1:
            return min(slots, key=lambda slot: (-shares[slot.customer], slot.busy(), slot.last_used))
        longest = min(self._taken, key=self._yields_at, default=None)
        return longest if longest is not None and self._yields_at(longest) <= self._clock() else None

    def _yields_at(self, slot: P) -> float:
        return slot.last_used + (self._idle_seconds if slot.used else self._unused_seconds)


class NoRoom(Exception):
    pass


@dataclass(slots=True, eq=False, kw_only=True)
class _Subscription(Slot):
    handler: ListenHandler
    """Closing it ends the subscription."""


class Subscriptions:
    """The open MCP subscriptions. Each has its own SDK handler, so that it can be ended alone. Subscriptions are displaced
    for fairness only, not for being idle. `is_watchable` returns True for a URI whose updates are announced."""

    def __init__(self, most: int = 1024, is_watchable: Callable[[str], bool] = lambda uri: True) -> None:
        self._is_watchable = is_watchable
        self._slots: Slots[_Subscription] = Slots(most, math.inf, math.inf)

    def __len__(self) -> int:
        return len(self._slots)

    def has_room_for(self, scope: Scope) -> bool:
        return self._slots.has_room_for(holder_of(scope), customer_of(scope["headers"]))

    async def serve(
        self, ctx: ServerRequestContext[Any, Request], params: types.SubscriptionsListenRequestParams, bus: SubscriptionBus
    ) -> types.SubscriptionsListenResult:
        """Sends events of `bus` to the client until either side ends the subscription. Raises `MCPError` beyond limits."""
        honoured = self._select(params)
        scope: Scope = {"headers": ()} if ctx.request is None else ctx.request.scope
        handler = ListenHandler(bus, max_subscriptions=1)
        subscription = _Subscription(holder=holder_of(scope), customer=customer_of(scope["headers"]), handler=handler)
        try:
            with self._slots.holding(subscription, lambda ended: ended.handler.close()):
                return await handler(ctx, honoured)
        except NoRoom:
            raise MCPError(types.INTERNAL_ERROR, FULL) from None  # for transports without the 503 of `Admission`

    def _select(self, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenRequestParams:
        """Returns the params with announced resources alone. Raises `MCPError` for too many URIs, or too long ones."""
        uris = params.notifications.resource_subscriptions or ()
        if len(uris) > MOST_URIS or any(len(uri) > LONGEST_URI for uri in uris):
            bounds = f"at most {MOST_URIS} resources, each with at most {LONGEST_URI} characters"
            raise MCPError(types.INVALID_PARAMS, f"A subscription names {bounds}.")
        selected = {"resource_subscriptions": [uri for uri in uris if self._is_watchable(uri)]}
        return params.model_copy(update={"notifications": params.notifications.model_copy(update=selected)})

    def close(self) -> None:
        for subscription in self._slots:
            subscription.handler.close()
