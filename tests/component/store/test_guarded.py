"""The guard between a call and its backend: breaker, bulkhead, retries, attempt timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.profile import Event, EventKind
from session.resilience.breaker import BreakerState
from session.resilience.deadline import Deadline, RetryBudget, RetryPolicy, Timeline
from tests.support.breakers import mend, trip
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.store import Mood, Shelf
from tools.store.failures import (
    BackendFailure,
    CircuitOpen,
    DependencyFailure,
    InvalidArguments,
    NotFound,
    RequestRejected,
    ServerBusy,
    Throttled,
    TimedOut,
)
from tools.store.guarded import NAMES, UNGUARDED, Backend, BackendPolicy, guard_port
from tools.store.models import CatalogQuery, Conditions, ReaderQuery
from tools.store.ports import MonitoredPort

POLICY = BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2, bulkhead=2)


class Attempts:
    """An operation that does what a list says, one item an attempt; the last one for ever."""

    def __init__(self, *how: Exception | str) -> None:
        self.how = list(how)
        self.made = 0

    async def __call__(self, deadline: Deadline) -> str:
        how = self.how[min(self.made, len(self.how) - 1)]
        self.made += 1
        if isinstance(how, Exception):
            raise how
        return how


@pytest.fixture
def backend() -> Backend:
    return Backend("stock", POLICY)


def soon() -> Deadline:
    return Deadline.after(5)


async def test_failed_attempt_is_retried_once(backend: Backend) -> None:
    attempts = Attempts(DependencyFailure("down"), "well")
    assert await backend.call(attempts, soon()) == "well"
    assert attempts.made == 2


async def test_second_failure_is_raised(backend: Backend) -> None:
    attempts = Attempts(DependencyFailure("first"), DependencyFailure("second"))
    with pytest.raises(DependencyFailure, match="second"):
        await backend.call(attempts, soon())
    assert attempts.made == 2


@pytest.mark.parametrize(
    "failure", [NotFound("no"), ServerBusy("busy"), KeyError("x"), Throttled("less, please"), RequestRejected("what?")]
)
async def test_failure_that_is_not_retryable_is_tried_once(backend: Backend, failure: Exception) -> None:
    attempts = Attempts(failure)
    with pytest.raises(type(failure)):
        await backend.call(attempts, soon())
    assert attempts.made == 1


@pytest.mark.parametrize("failure", [NotFound("no"), InvalidArguments([]), ValueError("bug"), RequestRejected("what?")])
async def test_failures_not_caused_by_the_backend_leave_its_breaker_closed(backend: Backend, failure: Exception) -> None:
    for _ in range(20):
        with pytest.raises(type(failure)):
            await backend.call(Attempts(failure), soon())
    assert backend.breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("error", [ConnectionResetError("10.0.0.7"), EOFError(), OSError("dsn")])
async def test_network_error_is_reported_without_addresses(backend: Backend, error: Exception) -> None:
    with pytest.raises(DependencyFailure) as caught:
        await backend.call(Attempts(error), soon())
    assert caught.value.message == "The stock backend cannot be reached."
    assert caught.value.details == {"dependency": "stock"}


async def test_timeout_of_the_driver_is_reported_as_timed_out(backend: Backend) -> None:
    with pytest.raises(TimedOut):
        await backend.call(Attempts(TimeoutError()), soon())


async def test_open_breaker_makes_no_attempt_and_states_retry_after(backend: Backend) -> None:
    for _ in range(3):
        with pytest.raises(BackendFailure):
            await backend.call(Attempts(DependencyFailure("down")), soon())
    attempts = Attempts("well")
    with pytest.raises(CircuitOpen) as caught:
        await backend.call(attempts, soon())
    assert attempts.made == 0
    assert 0 < (caught.value.retry_after_ms or 0) <= 700
    assert caught.value.dependency == "stock"


async def test_expired_deadline_makes_no_attempt_and_blames_no_backend(backend: Backend) -> None:
    attempts = Attempts("well")
    for _ in range(10):
        with pytest.raises(TimedOut):
            await backend.call(attempts, Deadline.after(0))
    assert attempts.made == 0
    assert backend.breaker.state is BreakerState.CLOSED


async def hang(deadline: Deadline) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def test_attempt_ends_at_the_callers_deadline_or_the_attempt_timeout(backend: Backend) -> None:
    given: list[float] = []

    async def note(deadline: Deadline) -> str:
        given.append(deadline.remaining())
        return "well"

    await backend.call(note, Deadline.after(0.1))
    await backend.call(note, Deadline.after(10))
    assert given[0] <= 0.1
    assert 0.1 < given[1] <= 0.2


CATALOG = BackendPolicy(slow_seconds=0.6, attempt_seconds=0.8, telling_share=0.4)


async def left_after(backend: Backend, clock: HandClock, seconds: float, given: float = 5.0) -> None:
    """A caller who had `given` seconds asks and is gone after some."""
    task = asyncio.create_task(backend.call(hang, Deadline.after(given, clock)))
    await asyncio.sleep(0)
    clock.advance(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@cases(
    ("left", "given", "state"),
    [
        (0.25, 5.0, BreakerState.CLOSED),  # a healthy backend that answers after 0.3 s, and callers who do not wait for it
        (0.59, 5.0, BreakerState.CLOSED),
        (0.61, 5.0, BreakerState.OPEN),  # slow already, whoever waits
        (0.29, 0.3, BreakerState.OPEN),  # the call's own deadline, a moment before the attempt's
        (0.22, 0.24, BreakerState.CLOSED),  # all of its time, but less than any tool gives
        (0.26, 0.3, BreakerState.CLOSED),  # long enough to tell, but not all of its time
        (0.95, 0.2, BreakerState.CLOSED),  # cut off late by a busy process
    ],
)
async def test_cancelled_calls_open_the_breaker_only_after_the_attempt_timeout(
    left: float, given: float, state: BreakerState
) -> None:
    clock = HandClock()
    backend = Backend("catalog", CATALOG, clock)
    for _ in range(20):
        if backend.breaker.state is BreakerState.OPEN:
            break
        await left_after(backend, clock, left, given)
    assert backend.breaker.state is state


async def test_cancelled_probe_lets_the_next_call_probe() -> None:
    clock = HandClock()
    backend = Backend("catalog", CATALOG, clock)
    trip(backend.breaker)
    clock.advance(5)
    await left_after(backend, clock, 0.3)
    assert backend.breaker.state is BreakerState.HALF_OPEN
    assert await backend.call(Attempts("well"), Deadline.after(5, clock)) == "well"


async def test_waiting_for_a_bulkhead_slot_does_not_count_as_slow_or_failed() -> None:
    """A slot obtained late is no slow backend, and a slot never obtained is no hanging one."""
    clock = HandClock()
    backend = Backend("catalog", BackendPolicy(slow_seconds=0.6, attempt_seconds=9.0, bulkhead=1), clock)
    go = asyncio.Event()

    async def quick(deadline: Deadline) -> str:
        await go.wait()
        return "well"

    first = asyncio.create_task(backend.call(quick, Deadline.after(9, clock)))
    waiting = [asyncio.create_task(backend.call(quick, Deadline.after(9, clock))) for _ in range(20)]
    await asyncio.sleep(0)
    clock.advance(0.59)
    go.set()
    assert await first == "well"
    for each in waiting[:10]:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert backend.breaker.state is BreakerState.CLOSED
    for _ in range(backend.breaker.policy.in_a_row - 1):
        backend.breaker.record_failure(backend.breaker.era)
    assert backend.breaker.state is BreakerState.CLOSED, "not one of them counted"


async def test_span_of_an_attempt_states_how_long_it_waited_for_a_bulkhead_slot() -> None:
    clock = HandClock()
    backend = Backend("catalog", BackendPolicy(slow_seconds=0.6, attempt_seconds=9.0, bulkhead=1), clock)
    timeline, go = Timeline(clock, "search_manga_catalog", clock()), asyncio.Event()

    async def quick(deadline: Deadline) -> str:
        await go.wait()
        return "well"

    deadline = Deadline.after(9, clock).in_span(timeline.call)
    both = asyncio.gather(*(backend.call(quick, deadline) for _ in range(2)))
    await asyncio.sleep(0)
    clock.advance(0.2501236)
    go.set()
    await both
    assert [each.attributes["waited_ms"] for each in timeline.spans] == [0, 250.124]
    assert [(each.name, each.attributes["operation"], each.attributes["attempt"]) for each in timeline.spans] == [
        ("catalog", "call", 1)
    ] * 2


async def test_bulkhead_limits_concurrent_attempts_and_others_wait_within_their_deadline(backend: Backend) -> None:
    running = 0
    most = 0
    go = asyncio.Event()

    async def attempt(deadline: Deadline) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await go.wait()
        running -= 1
        return "well"

    tasks = [asyncio.create_task(backend.call(attempt, soon())) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(TimedOut):
        await backend.call(attempt, Deadline.after(0.01))
    go.set()
    assert await asyncio.gather(*tasks) == ["well"] * 5
    assert most == 2
    most, usual = 0, Backend("stock", BackendPolicy(0.15, 0.2))
    go.clear()
    tasks = [asyncio.create_task(usual.call(attempt, soon())) for _ in range(65)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*tasks)
    assert most == 64, "unless the backend's policy says something else"


async def test_retry_that_could_not_end_in_time_is_not_begun() -> None:
    backend = Backend("stock", BackendPolicy(0.15, 0.2, retry=RetryPolicy(attempts=3, base=10, longest=20)))
    attempts = Attempts(DependencyFailure("down"))
    with pytest.raises(DependencyFailure):
        await backend.call(attempts, Deadline.after(1))
    assert attempts.made == 1


async def test_retries_are_limited_to_a_share_of_the_calls() -> None:
    backend = Backend(
        "stock", BackendPolicy(slow_seconds=100, attempt_seconds=0.2, retry=RetryPolicy(base=0.0, longest=0.0))
    )
    made = 0
    for _ in range(60):
        await mend(backend.breaker)
        attempts = Attempts(DependencyFailure("down"))
        with pytest.raises(DependencyFailure):
            await backend.call(attempts, soon())
        made += attempts.made
    assert 60 + 10 < made <= 60 + 10 + 7


def test_retry_budget_is_earned_and_spent() -> None:
    budget = RetryBudget(share=0.5, most=2)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    budget.earn()
    assert not budget.spend()
    budget.earn()
    assert budget.spend()


@given(draw=st.floats(0, 1), attempt=st.integers(1, 30))
def test_retry_pauses_double_up_to_the_limit_with_full_jitter(draw: float, attempt: int) -> None:
    """Long loops, such as DynamoDB batches, need the limit."""
    assert RetryPolicy(base=0.05, longest=5.0, draw=lambda: draw).pause(attempt) == draw * min(5.0, 0.05 * 2**attempt)


async def test_every_port_method_but_health_and_profile_writes_is_guarded(shelf: Shelf) -> None:
    """Health asks the backend itself: a probe that the breaker answered would never see it recover. Profiles are written
    behind the calls: what becomes of that is no word on how the backend answers one."""
    moody, clock = shelf.in_moods(), HandClock()
    backend = Backend("it", POLICY, clock)
    catalog = guard_port(moody.catalog, backend)
    stock, orders = guard_port(moody.stock, backend), guard_port(moody.orders, backend)
    profiles, releases = guard_port(moody.profiles, backend), guard_port(moody.releases, backend)
    viewed = Event(EventKind.VIEWED, "manga-000001", "2026-11-02T09:30:00.000Z")
    calls: list[Callable[[], Any]] = [
        lambda: catalog.search(CatalogQuery("x", Conditions(), 1), soon()),
        lambda: catalog.get(["manga-000001"], soon()),
        lambda: catalog.popular(Conditions(), 1, soon()),
        lambda: catalog.for_reader(ReaderQuery(1), soon()),
        lambda: catalog.terms(soon()),
        lambda: catalog.match_names(["x"], soon()),
        lambda: stock.availability(["manga-000001"], soon()),
        lambda: orders.order("u", "MNG-UUUU0001", soon()),
        lambda: orders.latest("u", 10, soon()),
        lambda: orders.purchased("u", soon()),
        lambda: orders.bought("u", "manga-000001", soon()),
        lambda: releases.of_month("2026-11", soon()),
        lambda: profiles.recall("u", soon()),
        lambda: profiles.forget("u", soon()),
    ]
    for each in calls:
        await each()
    ports = (moody.catalog, moody.stock, moody.releases, moody.orders, moody.profiles)
    for each in ports:
        each.mood = Mood.FAILS
    for each in calls:
        trip(backend.breaker)
        with pytest.raises(CircuitOpen):
            await each()
    for _ in range(100):
        with pytest.raises(DependencyFailure):
            await profiles.remember([("u", viewed)], soon())
    clock.advance(backend.breaker.policy.longest * 2)
    await mend(backend.breaker)
    for _ in range(100):
        with pytest.raises(DependencyFailure):
            await profiles.remember([("u", viewed)], soon())
    assert backend.breaker.state is BreakerState.CLOSED
    for each in ports:
        each.mood = Mood.WORKS
    await profiles.remember([("u", viewed)], soon())
    assert (await profiles.recall("u", soon())).events == (viewed,)
    for port in (catalog, stock, releases, orders, profiles):
        assert (await port.health(soon())).ok


async def test_slow_name_look_ups_do_not_open_the_breaker_of_searches(shelf: Shelf) -> None:
    moody, clock = shelf.in_moods(), HandClock()
    searches, names = Backend("catalog", POLICY, clock), Backend("names", POLICY, clock)
    catalog = guard_port(moody.catalog, searches, names)
    moody.catalog.mood = Mood.FAILS
    while names.breaker.state is BreakerState.CLOSED:
        with pytest.raises(BackendFailure):
            await catalog.match_names(["x"], soon())
    moody.catalog.mood = Mood.WORKS
    with pytest.raises(CircuitOpen):
        await catalog.terms(soon())
    assert searches.breaker.state is BreakerState.CLOSED
    await catalog.search(CatalogQuery("x", Conditions(), 1), soon())


def test_methods_with_a_guard_of_their_own_or_none_are_methods_of_ports() -> None:
    methods = {name for kind in MonitoredPort.__subclasses__() for name in dir(kind)}
    assert methods >= NAMES | UNGUARDED
