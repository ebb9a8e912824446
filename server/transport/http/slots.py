"""A limited number of slots, shared fairly among their holders; and subscriptions, each of which takes a slot."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Generic, TypeVar

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext, authorization_context
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


def holder_of(scope: Scope) -> str:
    """Returns the holder of a request's slots: the authenticated principal, else the client's address. All loopback
    addresses are one holder: the agent on the same host, which may use everything."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return f"principal {user.access_token.client_id}"
    client = scope.get("client")
    return LOCAL if client is None or _loopback(client[0]) else f"address {client[0]}"


def customer_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns the user or session stated in the headers, b"" if none is. It is unverified: it only divides the slots of
    one holder among its customers."""
    stated = {name: value for name, value in headers if name in STATED_IN_HEADERS}
    return next((stated[name][:LONGEST_CUSTOMER] for name in STATED_IN_HEADERS if name in stated), b"")


def owner_of(scope: Scope) -> AuthorizationContext | None:
    """Returns the authenticated principal in the form that the SDK compares; None without authentication."""
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


@lru_cache(maxsize=1024)
def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True  # not an IP address, such as a Unix socket


@dataclass(slots=True, eq=False)
class Slot:
    """A slot held for one of its holder's customers. `used` is True once it has served something."""

    holder: str
    customer: bytes = b""
    used: bool = False
    last_used: float = 0.0

    def busy(self) -> bool:
        """Returns True if something is under way in this slot that would be lost if the slot were given up."""
        return False


P = TypeVar("P", bound=Slot)


class Slots(Generic[P]):
    """At most `most` slots; a single holder may have them all. When all are taken, a new slot displaces

    - at once, a slot of the holder with the most, if that is more than the new slot's holder would have (max-min fairness);
    - else, by the same rule, one of another customer of the same holder; both idle first, then least recently used first;
    - else a slot that was idle for `idle_seconds`, or never used for `unused_seconds`.
    """

    def __init__(self, most: int, unused_seconds: float, idle_seconds: float, clock: Clock = time.monotonic) -> None:
        self.most = most
        self._unused_seconds = unused_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._taken: dict[P, None] = {}
        self._none_taken = asyncio.Event()
        self._none_taken.set()

    def __len__(self) -> int:
        return len(self._taken)

    def __iter__(self) -> Iterator[P]:
        return iter(list(self._taken))

    def has_room_for(self, holder: str, customer: bytes = b"") -> bool:
        return len(self._taken) < self.most or self._find_displaced(holder, customer) is not None

    def take(self, slot: P) -> P | None:
        """Takes a slot. Returns the displaced one, which the caller has to end; it is released already. Raises `NoRoom`."""
        ended = None
        if len(self._taken) >= self.most:
            ended = self._find_displaced(slot.holder, slot.customer)
            if ended is None:
                raise NoRoom
            self.release(ended)
        slot.last_used = self._clock()
        self._taken[slot] = None
        self._none_taken.clear()
        return ended

    def use(self, slot: P) -> None:
        slot.used, slot.last_used = True, self._clock()

    def release(self, slot: P) -> None:
        self._taken.pop(slot, None)
        if not self._taken:
            self._none_taken.set()

    async def wait_until_free(self, seconds: float) -> None:
        """Waits until no slot is taken, for at most `seconds`."""
        with anyio.move_on_after(seconds):
            await self._none_taken.wait()

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
    """Raised when every slot is taken and none can be displaced."""


METHOD = "subscriptions/listen"
MOST_SUBSCRIPTIONS = 1024
ASK_FOR_LESS = f"A subscription names at most {MOST_URIS} resources, each with at most {LONGEST_URI} characters."
FULL = "There are as many subscriptions as this server keeps."


@dataclass(slots=True, eq=False, kw_only=True)
class _Subscription(Slot):
    handler: ListenHandler
    """Closing it ends the subscription."""


class Subscriptions:
    """The open subscriptions. Each has its own SDK handler, so that it can be ended alone, with the result that MCP wants.
    Idle ones stay open, and are displaced only for a holder of fewer. `is_watchable` selects the URIs with updates."""

    def __init__(self, most: int = MOST_SUBSCRIPTIONS, is_watchable: Callable[[str], bool] = lambda uri: True) -> None:
        self._is_watchable = is_watchable
        self._slots: Slots[_Subscription] = Slots(most, math.inf, math.inf)

    def __len__(self) -> int:
        return len(self._slots)

    def has_room_for(self, scope: Scope) -> bool:
        return self._slots.has_room_for(holder_of(scope), customer_of(scope["headers"]))

    async def serve(
        self,
        ctx: ServerRequestContext[Any, Request],
        params: types.SubscriptionsListenRequestParams,
        bus: SubscriptionBus,
    ) -> types.SubscriptionsListenResult:
        """Sends the events of `bus` to the client until either side ends the subscription."""
        honoured = self._select(params)
        scope: Scope = {"headers": ()} if ctx.request is None else ctx.request.scope
        handler = ListenHandler(bus, max_subscriptions=1)
        subscription = _Subscription(holder=holder_of(scope), customer=customer_of(scope["headers"]), handler=handler)
        try:
            ended = self._slots.take(subscription)
        except NoRoom:
            raise MCPError(types.INTERNAL_ERROR, FULL) from None  # if HTTP has not answered 503 before
        if ended is not None:
            ended.handler.close()
        try:
            return await subscription.handler(ctx, honoured)
        finally:
            self._slots.release(subscription)

    def _select(self, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenRequestParams:
        """Returns the params with watchable resources only. Raises `MCPError` beyond the limits."""
        uris = params.notifications.resource_subscriptions or ()
        if len(uris) > MOST_URIS or any(len(uri) > LONGEST_URI for uri in uris):
            raise MCPError(types.INVALID_PARAMS, ASK_FOR_LESS)
        selected = {"resource_subscriptions": [uri for uri in uris if self._is_watchable(uri)]}
        return params.model_copy(update={"notifications": params.notifications.model_copy(update=selected)})

    def close(self) -> None:
        """Ends all subscriptions, each with its result."""
        for subscription in self._slots:
            subscription.handler.close()
