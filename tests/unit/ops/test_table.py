"""The states of dependencies are asked in the background, seldom, and sooner when a breaker changes."""

from __future__ import annotations

import asyncio

import pytest

from server.ops.figures import DEPENDENCIES, DOCTOR
from server.ops.observation import DependencyStates
from server.runtime.health import REMEMBERED_SECONDS, Dependencies
from session.resilience.breaker import BreakerPolicy, CircuitBreaker
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tools.store.models import Health


class Backend:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.breaker = CircuitBreaker("catalog", BreakerPolicy(slow_seconds=1.0), self.clock)
        self.health = Health(ok=True, detail="261 titles")
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()
        self.table = DependencyStates(Dependencies({"catalog": (self.probe, self.breaker)}, self.clock))

    async def probe(self, deadline: Deadline) -> Health:
        self.asked += 1
        await self.answers.wait()
        return self.health

    async def tick(self) -> None:
        self.table.tick()
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def backend() -> Backend:
    return Backend()


def row(backend: Backend) -> tuple[str, str | None]:
    (told,) = backend.table.rows()
    assert (told["name"], told["advice"] is None) == ("catalog", told["status"] in ("ok", "unknown"))
    return told["status"], told["detail"]


async def test_dependency_is_unknown_until_asked_and_asked_again_each_interval(backend: Backend) -> None:
    assert row(backend) == ("unknown", None)
    await backend.tick()
    assert row(backend) == ("ok", "261 titles")
    backend.clock.advance(29)
    await backend.tick()
    assert backend.asked == 1
    backend.clock.advance(1)
    backend.health = Health(ok=False, detail="does not answer")
    await backend.tick()
    assert (backend.asked, row(backend)) == (2, ("down", "does not answer"))


async def test_opened_breaker_shows_as_degraded_at_once_and_is_asked_about_soon(backend: Backend) -> None:
    await backend.tick()
    backend.clock.advance(2 * REMEMBERED_SECONDS)
    for _ in range(backend.breaker.policy.in_a_row):
        backend.breaker.record_failure(backend.breaker.era)
    assert row(backend) == ("degraded", "261 titles")
    await backend.tick()
    assert backend.asked == 2


async def test_hanging_dependency_is_not_asked_twice_and_blocks_nothing(backend: Backend) -> None:
    backend.answers.clear()
    await backend.tick()
    backend.clock.advance(30)
    await backend.tick()
    assert (backend.asked, row(backend)) == (1, ("unknown", None))
    backend.table.end()
    await asyncio.gather(
        *(task for task in asyncio.all_tasks() if task.get_name().startswith("ops")), return_exceptions=True
    )
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("ops")]


async def test_breaker_degrades_only_what_is_ok_and_only_what_is_not_has_advice(backend: Backend) -> None:
    for _ in range(backend.breaker.policy.in_a_row):
        backend.breaker.record_failure(backend.breaker.era)
    assert row(backend) == ("unknown", None)
    backend.health = Health(ok=False, detail="does not answer")
    await backend.tick()
    assert row(backend) == ("down", "does not answer")
    backend.table = DependencyStates(Dependencies(dict.fromkeys(("flags", "x"), (backend.probe, None)), backend.clock))
    await backend.tick()
    assert [each["advice"] for each in backend.table.rows()] == [DEPENDENCIES["flags"], DOCTOR]
    backend.health = Health(ok=True)
    backend.clock.advance(30)
    await backend.tick()
    assert [(each["status"], each["advice"]) for each in backend.table.rows()] == [("ok", None)] * 2
