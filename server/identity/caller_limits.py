"""In-process rate limits for refused calls, for list answers, and for calls from one IP address.

Admitted calls are counted in Redis, in their first round trip (`session.memory`). Calls that are refused earlier would
otherwise not be limited."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from server.call import Call
from session import keys
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import RateLimited

SHARED_LIMIT_FACTOR = 10
"""Two shared limits are this many times a caller's limit: that on the requests of one address that state unverified names,
since each new name would get a new limit; and that on the lists for unnamed callers of one origin or address."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller; fields are None where unknown. `origin` is the principal that the transport has authenticated, which may act
    for many customers. `vouched` is True if a verified principal stated the user and the session."""

    user: str | None = None
    session: str | None = None
    origin: str | None = None
    address: str | None = None
    vouched: bool = False

    @property
    def name(self) -> str | None:
        """The key of the caller's limit: the user, else the session, else None."""
        return keys.caller(self.user, self.session)


@dataclass(frozen=True, slots=True)
class StatedIdentity:
    """The unverified identity that a call states. `customer` is a hash of the first that is present of user, user token,
    session and the transport's session, or "" without any of them. `origin` is the transport's principal, else the IP
    address. Limits are per origin and customer, so that no origin can exhaust another's limit."""

    origin: str
    customer: str

    @classmethod
    def from_call(cls, call: Call) -> StatedIdentity:
        said = call.metadata
        who = said.user or said.user_token or said.session or call.transport_session or ""
        hashed = hashlib.blake2b(who.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if who else ""
        return cls(call.origin or call.address or "", hashed)

    @property
    def name(self) -> str:
        return f"{self.origin} {self.customer}"


class CallerLimits:
    """In-process token buckets. A `rate` of None disables all of them. `by_address` also limits each IP address, for servers
    that listen beyond loopback."""

    def __init__(self, rate: Rate | None, *, by_address: bool = False, clock: Clock = time.monotonic) -> None:
        self._refusals = LocalLimits(rate, clock) if rate else None
        self._lists = LocalLimits(rate, clock) if rate else None
        self._lists_of_many = LocalLimits(rate.scaled(SHARED_LIMIT_FACTOR), clock) if rate else None
        self._stated = LocalLimits(rate, clock) if rate else None
        addressed = rate if by_address else None
        self._addresses = LocalLimits(addressed, clock) if addressed else None
        self._crowds = LocalLimits(addressed.scaled(SHARED_LIMIT_FACTOR), clock) if addressed else None

    def admit(self, caller: Caller, cost: int = 1) -> None:
        """Raises `RateLimited` if the IP address calls too often, or if the caller's calls were refused too often. The call
        counts for `cost` calls of its address, unless a verified principal states user or session."""
        if wait_ms := self.charge_address(caller, cost):
            raise RateLimited("Too many calls from this address.", retry_after_ms=wait_ms)
        if self._refusals and caller.name and (wait_ms := self._refusals.peek_wait_ms(caller.name)):
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=wait_ms)

    def check_stated(self, stated: StatedIdentity) -> None:
        """Raises `RateLimited` if `note_refusal` has counted too many calls of this identity."""
        if self._stated and stated.customer and (wait_ms := self._stated.peek_wait_ms(stated.name)):
            raise RateLimited("Too many calls were refused. Wait a moment.", retry_after_ms=wait_ms)

    def note_refusal(self, stated: StatedIdentity) -> None:
        """Counts a call that was refused for overload or a rate limit."""
        if self._stated and stated.customer:
            self._stated.wait_ms(stated.name)

    def charge_refusal(self, caller: Caller) -> int:
        """Counts a refused call. Returns 0 if the answer may state the reason of the refusal, else the ms until it may."""
        whom = caller.name or self._shared_name(caller)
        return self._refusals.wait_ms(whom) if self._refusals and whom else 0

    def charge_bytes(self, caller: Caller, size: int) -> int:
        """Counts each 4 KB of a list answer as one call. Returns 0 if the answer may be sent, else the ms to wait. Callers
        without user and session share the limit of their origin or address. The IP address's own limit counts the answer
        too: likewise for an unproven name, and as one call for a caller without a name."""
        cost = -(-size // 4096)
        if wait_ms := self.charge_address(caller, cost if caller.name else 1):
            return wait_ms
        limits, whom = (self._lists, caller.name) if caller.name else (self._lists_of_many, self._shared_name(caller))
        return limits.wait_ms(whom, cost) if limits and whom else 0

    def _shared_name(self, caller: Caller) -> str | None:
        if caller.origin:
            return f"origin:{caller.origin}"
        return f"address:{caller.address}" if self._addresses and caller.address else None

    def charge_address(self, caller: Caller, cost: int = 1) -> int:
        """Counts a call of the IP address as `cost` calls, and returns the ms to wait. If a verified principal states user
        or session, counts nothing and returns 0."""
        if caller.address is None or (caller.name and caller.vouched):
            return 0
        limits = self._crowds if caller.name else self._addresses
        return limits.wait_ms(caller.address, cost) if limits else 0


def caller_of(call: Call) -> Caller:
    """Returns the caller as known so far. Before the identity stage has run, the user is unknown."""
    principal = call.principal
    return Caller(principal.user, call.session, call.origin, call.address, principal.is_proven)
