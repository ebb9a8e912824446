"""What a caller may do before anything is asked of Redis: the refusals it may cause, and what may come from one address.

Calls that are let in are counted in Redis, across processes, on the trip that they make anyway (`session.memory`). What is
refused before that trip would otherwise cost its caller nothing, however often it is sent.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from server.call import Call
from session import keys
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import RateLimited

CROWD = 10
"""Where nobody vouches for the names that callers give, those of one address may do together what so many may do alone: a
name of one's own for each call would otherwise be a limit of one's own."""

BYTES_A_CALL = 4096
"""What a list weighs: one of 20 KB is counted as five calls."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a call is from, as far as it is known. `origin` is the principal of the transport, which may speak for many
    customers; `vouched` is whether a proven principal stands behind user and session."""

    user: str | None = None
    session: str | None = None
    origin: str | None = None
    address: str | None = None
    vouched: bool = False

    @property
    def name(self) -> str | None:
        """Returns whom a limit is about: the user, else the session. None for somebody of whom nothing is known."""
        return keys.caller(self.user, self.session)


@dataclass(frozen=True, slots=True)
class Stated:
    """For whom a call says that it is, before anybody is proven: `customer` is a hash of the user or else the session, ""
    for nobody, and `origin` the proven principal of the transport or the address that says so. What is stated counts among
    those of one origin alone, or anybody could use up another's limit."""

    origin: str
    customer: str

    @classmethod
    def of(cls, call: Call) -> Stated:
        said = call.metadata
        who = said.user or said.user_token or said.session or call.transport_session or ""
        hashed = hashlib.blake2b(who.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if who else ""
        return cls(call.origin or call.address or "", hashed)

    @property
    def name(self) -> str:
        return f"{self.origin} {self.customer}"


class CallerLimits:
    """Token buckets in the process; none without a `rate`. `by_address` is for servers that listen beyond loopback."""

    def __init__(self, rate: Rate | None, *, by_address: bool = False, clock: Clock = time.monotonic) -> None:
        self._refusals = LocalLimits(rate, clock) if rate else None
        self._lists = LocalLimits(rate, clock) if rate else None
        self._lists_of_many = LocalLimits(rate.times(CROWD), clock) if rate else None
        self._stated = LocalLimits(rate, clock) if rate else None
        addressed = rate if by_address else None
        self._addresses = LocalLimits(addressed, clock) if addressed else None
        self._crowds = LocalLimits(addressed.times(CROWD), clock) if addressed else None

    def admit(self, caller: Caller) -> None:
        """Raises `RateLimited` for an address that calls too often, and for a caller whose refusals have used up its limit.
        Whoever shares no more than an origin with that caller is let in."""
        if wait_ms := self._address_wait_ms(caller):
            raise RateLimited("Too many calls from this address.", retry_after_ms=wait_ms)
        if self._refusals and caller.name and (wait_ms := self._refusals.next_ms(caller.name)):
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=wait_ms)

    def hear(self, stated: Stated) -> None:
        """Raises `RateLimited` for a customer whose refusals have used up its limit, before anything else is done."""
        if self._stated and stated.customer and (wait_ms := self._stated.next_ms(stated.name)):
            raise RateLimited("Too many calls were refused. Wait a moment.", retry_after_ms=wait_ms)

    def note_refusal(self, stated: Stated) -> None:
        """Counts a refusal that took no more than a look at the call."""
        if self._stated and stated.customer:
            self._stated.wait_ms(stated.name)

    def charge(self, caller: Caller) -> int:
        """Counts a refusal. Returns 0 when its caller may still hear why, else the ms until it may."""
        whom = caller.name or self._shared_name(caller)
        return self._refusals.wait_ms(whom) if self._refusals and whom else 0

    def weigh(self, caller: Caller, size: int) -> int:
        """Counts an answer that is no call's by its bytes. Returns 0 where it may be given, else the ms until it may. Who
        only has an origin or an address shares it with others."""
        if wait_ms := self._address_wait_ms(caller):
            return wait_ms
        limits, whom = (self._lists, caller.name) if caller.name else (self._lists_of_many, self._shared_name(caller))
        return limits.wait_ms(whom, -(-size // BYTES_A_CALL)) if limits and whom else 0

    def _shared_name(self, caller: Caller) -> str | None:
        if caller.origin:
            return f"origin:{caller.origin}"
        return f"address:{caller.address}" if self._addresses and caller.address else None

    def _address_wait_ms(self, caller: Caller) -> int:
        """An agent's many customers share its address, so those that it vouches for by name do not count there."""
        if caller.address is None or (caller.name and caller.vouched):
            return 0
        limits = self._crowds if caller.name else self._addresses
        return limits.wait_ms(caller.address) if limits else 0


def caller_of(call: Call) -> Caller:
    """Names the caller as far as the call has got: nobody is proven before the identity stage."""
    principal = call.principal
    return Caller(principal.user, call.session, call.origin, call.address, principal.proven)
