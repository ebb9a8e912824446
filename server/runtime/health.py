from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from session.failures import SessionFailure
from session.memory import SessionMemory
from session.resilience.breaker import BreakerState, CircuitBreaker, Outage
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_periodically
from tools.store.failures import Failure
from tools.store.models import Health
from tools.store.store import Store

logger = logging.getLogger(__name__)
PROBE_SECONDS = 0.5
REMEMBERED_SECONDS = 1.0
Probe = Callable[[Deadline], Awaitable[Health]]


@dataclass(slots=True)
class Dependencies:
    """Every dependency by name, with its probe and its circuit breaker or None. The start and the end of an outage are
    logged once each. A successful probe closes a half-open breaker that no call is testing. `latest` has the result of the
    last `states`, and `asked_at` its time on `clock`."""

    probes: Mapping[str, tuple[Probe, CircuitBreaker | None]]
    clock: Clock = time.monotonic
    latest: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked_at: float = float("-inf")
    _outages: dict[str, Outage] = field(default_factory=dict)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def states(self) -> dict[str, dict[str, Any]]:
        """Returns `{name: {state, latency_ms, detail?}}`; `state` is "ok", "open", "half_open" or "down". Probes all
        concurrently; a probe takes at most half a second. All callers share the result for `REMEMBERED_SECONDS`."""
        async with self._asking:
            if self.clock() - self.asked_at > REMEMBERED_SECONDS:
                names = list(self.probes)
                states = await asyncio.gather(*(self._probe_state(name, *self.probes[name]) for name in names))
                self.latest = dict(zip(names, states, strict=True))
                self.asked_at = self.clock()
        return self.latest

    async def run(self) -> NoReturn:
        """Probes dependencies whose breaker is half open, which without calls would stay half open. Runs until cancelled."""
        await run_periodically("dependencies", self._probe_half_open)

    async def _probe_half_open(self) -> float:
        for name, (probe, breaker) in self.probes.items():
            if breaker is not None and breaker.state is BreakerState.HALF_OPEN:
                await self._probe_state(name, probe, breaker)
        return 2.0  # seconds until the next round

    async def _probe_state(self, name: str, probe: Probe, breaker: CircuitBreaker | None) -> dict[str, Any]:
        started = self.clock()
        health = await _ask_probe(probe, self.clock)
        latency_ms = round((self.clock() - started) * 1000, 2)
        outage = self._outages.setdefault(name, Outage(logger, f"the {name} dependency", clock=self.clock))
        if health.ok:
            outage.record_recovery()
        elif not health.logged:
            outage.record_failure(health.detail or "it is not well")
        while breaker is not None and health.ok and breaker.state is BreakerState.HALF_OPEN and breaker.allow_call():
            health = await self._probe_as_call(probe, breaker)
        state = "ok" if breaker is None or breaker.state is BreakerState.CLOSED else breaker.state.value
        state = state if health.ok else "down"
        return {"state": state, "latency_ms": latency_ms, **({"detail": health.detail} if health.detail else {})}

    async def _probe_as_call(self, probe: Probe, breaker: CircuitBreaker) -> Health:
        """Probes in place of a call. Reports only a success to the breaker: a failure is for real calls to report."""
        era, started, health = breaker.era, self.clock(), None
        try:
            health = await _ask_probe(probe, self.clock)
        finally:
            if health is not None and health.ok:
                breaker.record_success(self.clock() - started, era)
            else:
                breaker.record_ignored(era)
        return health


async def _ask_probe(probe: Probe, clock: Clock) -> Health:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await probe(Deadline.after(PROBE_SECONDS, clock))
    except (TimeoutError, Failure, SessionFailure, OSError):
        return Health(ok=False, detail="does not answer")


def dependencies(
    store: Store, memory: SessionMemory, others: Mapping[str, Probe], breakers: Mapping[str, CircuitBreaker], clock: Clock
) -> Dependencies:
    """Returns the dependencies in the order of `/readyz`, `others` last. `breakers` are by dependency name."""

    async def redis(deadline: Deadline) -> Health:
        await memory.ping(deadline)
        return Health(ok=True)

    probes: dict[str, Probe] = {
        "catalog": store.catalog.health,
        "titles": store.records.health,
        "stock": store.stock.port.health,
        "releases": store.releases.port.health,
        "orders": store.orders.health,
        "profile": store.profiles.health,
        "pages": store.pages.health,
        "redis": redis,
        **({"classifier": remote.health} if (remote := store.classifying.remote) else {}),
        **others,
    }
    return Dependencies({name: (probe, breakers.get(name)) for name, probe in probes.items()}, clock)
