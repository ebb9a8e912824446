"""What probes cost the backends."""

from __future__ import annotations

import asyncio

from server.runtime.health import Dependencies
from session.resilience.breaker import Breaker, BreakerPolicy
from session.resilience.deadline import Deadline
from tools.store.models import Health


async def test_however_many_want_to_know_at_once_each_backend_is_asked_once() -> None:
    """An orchestrator asks seldom; whoever asks a thousand times a second is no reason to ask the backends as often."""
    asked, answer = 0, asyncio.Event()

    async def probe(deadline: Deadline) -> Health:
        nonlocal asked
        asked += 1
        await answer.wait()
        return Health(ok=True)

    dependencies = Dependencies({"catalog": (probe, Breaker("catalog", BreakerPolicy(slow_seconds=1.0)))})
    first, *others = [asyncio.create_task(dependencies.states()) for _ in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    answer.set()
    states = await asyncio.gather(*others)
    assert {states["catalog"]["state"] for states in states} == {"ok"}
    assert asked == 2, "the one who gave up took its question along, and the next asked for all"
    await dependencies.states()
    assert asked == 2
