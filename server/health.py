"""How the dependencies fare, asked when somebody wants to know and remembered for a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from session.breaker import Breaker, BreakerState
from session.deadline import Deadline
from session.failures import SessionFailure
from tools.failures import Failure
from tools.models import Health

PROBE_SECONDS = 0.5
REMEMBERED_SECONDS = 1.0

Probe = Callable[[Deadline], Awaitable[Health]]


@dataclass(slots=True)
class Dependencies:
    """Every dependency by name, with the probe that asks it and the breaker that guards it."""

    probes: Mapping[str, tuple[Probe, Breaker]]
    _states: dict[str, dict[str, Any]] = field(default_factory=dict)
    _asked_at: float = float("-inf")
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def states(self) -> dict[str, dict[str, Any]]:
        """`{name: {state, latency_ms, detail?}}`; all asked at once, each for at most half a second. Whoever wants to know
        meanwhile waits for the same answers."""
        async with self._asking:
            if time.monotonic() - self._asked_at > REMEMBERED_SECONDS:
                names = list(self.probes)
                states = await asyncio.gather(*(self._state(*self.probes[name]) for name in names))
                self._states = dict(zip(names, states, strict=True))
                self._asked_at = time.monotonic()
        return self._states

    async def _state(self, probe: Probe, breaker: Breaker) -> dict[str, Any]:
        started = time.monotonic()
        health = await _asked(probe)
        latency_ms = round((time.monotonic() - started) * 1000, 2)
        state = "down" if not health.ok else "ok" if breaker.state is BreakerState.CLOSED else breaker.state.value
        return {"state": state, "latency_ms": latency_ms, **({"detail": health.detail} if health.detail else {})}


async def _asked(probe: Probe) -> Health:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await probe(Deadline.after(PROBE_SECONDS))
    except (TimeoutError, Failure, SessionFailure, OSError):
        return Health(ok=False, detail="does not answer")
