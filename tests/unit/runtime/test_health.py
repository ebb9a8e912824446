"""How often health probes ask the backends."""

from __future__ import annotations

import asyncio

from server.runtime.health import Dependencies
from server.telemetry.metrics import Metrics
from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from session.resilience.deadline import Deadline
from tests.support.breakers import trip
from tests.support.process import until
from tools.store.models import Health


async def test_concurrent_health_checks_probe_each_backend_once() -> None:
    """Probes that come a thousand times a second do not ask the backends as often."""
    asked, answer = 0, asyncio.Event()

    async def probe(deadline: Deadline) -> Health:
        nonlocal asked
        asked += 1
        await answer.wait()
        return Health(ok=True)

    dependencies = Dependencies({"catalog": (probe, CircuitBreaker("catalog", BreakerPolicy(slow_seconds=1.0)))})
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


async def test_health_probe_closes_the_breaker_of_a_recovered_backend_without_calls() -> None:
    """The page, the probe and the metrics report the same state all the while."""
    well = True

    async def probe(deadline: Deadline) -> Health:
        return Health(ok=well)

    breaker, metrics = CircuitBreaker("orders", BreakerPolicy(slow_seconds=1.0)), Metrics()
    metrics.watch_breakers([breaker])
    dependencies = Dependencies({"orders": (probe, breaker)})

    def number() -> float | None:
        return metrics.registry.get_sample_value("manga_breaker_state", {"backend": "orders"})

    trip(breaker)
    assert ((await dependencies.states())["orders"]["state"], number()) == ("open", 2)
    well = False
    await until(lambda: breaker.state is BreakerState.HALF_OPEN, 30, "the end of its pause")
    await dependencies._probe_half_open()
    assert (breaker.state, number()) == (BreakerState.HALF_OPEN, 1), "what is not well is for calls to find out"
    well = True
    task = asyncio.create_task(dependencies.run())
    await until(lambda: breaker.state is BreakerState.CLOSED, 30, "its breaker to close")
    task.cancel()
    dependencies.asked_at = float("-inf")
    assert ((await dependencies.states())["orders"]["state"], number()) == ("ok", 0)
