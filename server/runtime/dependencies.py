"""Which dependencies there are, how each is asked, and which breaker stands before it."""

from __future__ import annotations

from collections.abc import Mapping

from server.runtime.health import Dependencies, Probe
from session.memory import SessionMemory
from session.resilience.breaker import Breaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from tools.store.models import Health
from tools.store.store import Store


def dependencies(
    store: Store, memory: SessionMemory, others: Mapping[str, Probe], breakers: Mapping[str, Breaker], clock: Clock
) -> Dependencies:
    """Names them in the order in which they are told. `others` are of what has no breaker."""

    async def redis(deadline: Deadline) -> Health:
        await memory.ping(deadline)
        return Health(ok=True)

    probes: dict[str, Probe] = {
        "catalog": store.catalog.health,
        "titles": store.records.health,
        "stock": store.stock_port.health,
        "releases": store.releases.port.health,
        "orders": store.orders.health,
        "profile": store.profiles.health,
        "pages": store.pages.health,
        "redis": redis,
        **({"classifier": remote.health} if (remote := store.classifying.remote) else {}),
        **others,
    }
    return Dependencies({name: (probe, breakers.get(name)) for name, probe in probes.items()}, clock)
