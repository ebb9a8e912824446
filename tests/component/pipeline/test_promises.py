"""The server does what a failure states in `retryable`, `retry_after_ms` and `fallback_available`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from server.call import Call, Outcome, RequestMetadata
from server.results import call_tool_result
from session.begin import BeginRequest, BeginResult
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline, RetryPolicy
from session.resilience.rate_limit import Rate
from session.turn import IMPLICIT, Turn, TurnKind, TurnName, TurnRequest
from tests.support.breakers import trip, until_probed
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import Answer, Kit, open_kit, registered
from tests.support.store import Backends, Mood
from tests.support.valkey import eventually
from tools.registry import TOOLS
from tools.store.failures import (
    BudgetExhausted,
    CircuitOpen,
    DependencyFailure,
    Failure,
    Forbidden,
    InternalFailure,
    InvalidArguments,
    NotFound,
    RateLimited,
    ServerBusy,
    Throttled,
    TimedOut,
    ToolNotFound,
)

pytestmark = pytest.mark.virtual_time

SEARCH, DETAILS, STOCK, ORDER = "search_manga_catalog", "get_manga_details", "check_inventory", "lookup_order"
QUERY = {"query": "pirates"}
IDS = {"title_ids": ["manga-000001"]}
AN_ORDER = {"order_id": "MNG-UUUU0001"}
NAMED = TurnName(TurnKind.NAMED, "t")
NO_FALLBACK = [replace(tool, fallback=None) for tool in TOOLS]


def promised(answer: Answer) -> dict[str, Any]:
    data = answer.result["structuredContent"]["error"]["data"]
    return {name: data[name] for name in ("retryable", "retry_after_ms", "fallback_available")}


def told(failure: Failure, *, left_ms: int | None = None, name: TurnName = NAMED, tool: str = SEARCH) -> tuple[Any, ...]:
    call = Call("call-1", registered(tool), {}, RequestMetadata(), 0.0)
    if left_ms is not None:
        turn = Turn(name, 3000, Deadline.after((left_ms + 200) / 1000, HandClock(0.0)))
        call.begin_result = BeginResult(BeginRequest(None, None, TurnRequest("", name, 0.0)), turn)
    data = call_tool_result(call, Outcome(failure=failure))["structuredContent"]["error"]["data"]
    return data["retryable"], data["retry_after_ms"], data["fallback_available"]


@cases(
    ("failure", "retryable", "soon_ms"),
    [
        (InvalidArguments([]), False, None),
        (ToolNotFound("x"), False, None),
        (NotFound("x"), False, None),
        (Forbidden("x"), False, None),
        (InternalFailure("x"), False, None),
        (BudgetExhausted("x"), False, None),
        (RateLimited("x"), True, 100),
        (ServerBusy("x"), True, 100),
        (TimedOut("x"), True, 100),
        (DependencyFailure("x"), True, 100),
        (Throttled("x"), True, 1000),
        (CircuitOpen("x", retry_after_ms=412), True, 412),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Failure) else "",
)
def test_every_failure_states_retryability_delay_and_fallback(
    failure: Failure, retryable: bool, soon_ms: int | None
) -> None:
    """Only a retryable failure has a delay, and only a retryable one may have a fallback."""
    assert told(failure) == (retryable, soon_ms, retryable)
    assert told(failure, tool=ORDER) == (retryable, soon_ms, False), "orders have no fallback"


@cases(
    ("left_ms", "name", "retryable"),
    [
        (2000, NAMED, True),
        (601, NAMED, True),
        (600, NAMED, False),
        (0, NAMED, False),
        (0, IMPLICIT, True),
        (0, TurnName(TurnKind.TRACE, "f" * 32), True),
    ],
)
def test_failure_is_not_retryable_in_a_named_turn_that_will_be_over(left_ms: int, name: TurnName, retryable: bool) -> None:
    """After the wait of 500 ms the named turn has no time left; an unnamed turn would be replaced by a new one."""
    assert told(TimedOut("x", retry_after_ms=500), left_ms=left_ms, name=name) == (
        (True, 500, True) if retryable else (False, None, False)
    )


async def test_retry_in_an_exhausted_turn_fails_as_announced(kit: Kit) -> None:
    who = {"session": "s", "user": "u", "turn": "t", "arrived": kit.clock() - 2.95}
    for _ in range(2):
        answer = await kit.ask(ORDER, AN_ORDER, **who)
        assert (answer.failure, promised(answer)["retryable"]) == ("BUDGET_EXHAUSTED", False)
    assert (await kit.ask(ORDER, AN_ORDER, session="s", user="u", turn="another")).failure is None


async def test_call_cut_off_by_the_end_of_its_turn_is_not_retryable(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.HANGS
    answer = await kit.ask(ORDER, AN_ORDER, session="s", user="u", turn="t", turn_budget_ms=400)
    assert (answer.failure, promised(answer)["retryable"]) == ("TIMEOUT", False)
    kit.backends.orders.mood = Mood.WORKS
    assert (await kit.ask(ORDER, AN_ORDER, session="s", user="u", turn="t")).failure == "BUDGET_EXHAUSTED"


async def test_open_breaker_states_when_it_admits_a_call(redis: MultiplexedRedis, moody: Backends) -> None:
    """A call before that time is refused, and one after it is admitted."""
    async with open_kit(redis, moody, tools=NO_FALLBACK) as kit:
        guard = kit.guards["orders"]
        guard._policy = replace(guard._policy, retry=RetryPolicy(attempts=1))
        breaker = guard.breaker
        moody.orders.mood = Mood.FAILS
        answers = [await kit.ask(ORDER, AN_ORDER, user="u") for _ in range(5)]
        open_token_budget = next(answer for answer in answers if promised(answer)["retry_after_ms"] > 100)
        assert open_token_budget.failure == "DEPENDENCY_FAILURE", "the one that opened it knows already"
        answer = await kit.ask(ORDER, AN_ORDER, user="u")
        wait = promised(answer)["retry_after_ms"]
        assert (answer.failure, wait) == ("CIRCUIT_OPEN", breaker.retry_after_ms())
        assert promised(open_token_budget)["retry_after_ms"] == wait
        moody.orders.mood = Mood.WORKS
        kit.clock.advance(wait / 1000 - 0.002)
        assert (await kit.ask(ORDER, AN_ORDER, user="u")).failure == "CIRCUIT_OPEN"
        kit.clock.advance(0.004)
        assert (await kit.ask(ORDER, AN_ORDER, user="u")).failure is None


async def test_call_during_a_probe_is_told_to_wait_for_the_probe(kit: Kit) -> None:
    breaker = kit.guards["orders"].breaker
    trip(breaker)
    await until_probed(breaker)
    kit.backends.orders.gate = asyncio.Event()
    probe = asyncio.create_task(kit.ask(ORDER, AN_ORDER, user="u"))
    await eventually(lambda: kit.calls_of("order") == 1)
    answer = await kit.ask(ORDER, AN_ORDER, user="v")
    assert (answer.failure, promised(answer)["retry_after_ms"]) == ("CIRCUIT_OPEN", 300), "as long as an attempt may take"
    kit.backends.orders.gate.set()
    assert (await probe).failure is None
    assert (await kit.ask(ORDER, AN_ORDER, user="v")).failure == "NOT_FOUND"


async def test_call_refused_for_load_is_retryable_and_may_get_a_fallback(redis: MultiplexedRedis, moody: Backends) -> None:
    async with open_kit(redis, moody, max_concurrent_calls=1) as kit:
        moody.catalog.gate = asyncio.Event()
        first = asyncio.create_task(kit.ask(SEARCH, QUERY))
        await eventually(lambda: kit.calls_of("search") == 1)
        busy = await kit.ask(SEARCH, {"query": "other"})
        assert promised(busy) == {"retryable": True, "retry_after_ms": 100, "fallback_available": True}
        moody.catalog.gate.set()
        await first
        moody.catalog.mood = Mood.FAILS
        assert (await kit.ask(SEARCH, {"query": "other"})).meta["source"] == "fallback"


async def test_rate_limited_call_is_admitted_after_the_stated_wait(redis: MultiplexedRedis, moody: Backends) -> None:
    async with open_kit(redis, moody, rate=Rate(20, 1)) as kit:
        await kit.ask(SEARCH, QUERY, user="first")  # it loads the tables of words, which takes longer than the wait
        await kit.ask(SEARCH, QUERY, user="u")
        refused = await kit.ask(SEARCH, QUERY, user="u")
        assert refused.failure == "RATE_LIMITED"
        wait = promised(refused)["retry_after_ms"]
        assert 0 < wait <= 50
        assert promised(refused)["fallback_available"]
        kit.clock.advance(wait / 1000 - 0.002)
        assert (await kit.ask(SEARCH, QUERY, user="u")).failure == "RATE_LIMITED"
        kit.clock.advance(0.002)
        assert (await kit.ask(SEARCH, QUERY, user="u")).failure is None


@pytest.mark.parametrize("tool", [DETAILS, STOCK])
async def test_failure_of_the_last_fallback_promises_no_fallback(
    redis: MultiplexedRedis, moody: Backends, tool: str
) -> None:
    arguments = {DETAILS: {"title_id": "manga-000001"}, STOCK: IDS}[tool]
    async with open_kit(redis, moody, warm=False) as kit:
        moody.catalog.mood = moody.titles.mood = moody.stock.mood = Mood.FAILS
        answer = await kit.ask(tool, arguments, user="u", idempotency_key="k")
        assert promised(answer) == {"retryable": True, "retry_after_ms": 100, "fallback_available": False}
        moody.catalog.mood = moody.titles.mood = moody.stock.mood = Mood.WORKS
        assert (await kit.ask(tool, arguments, user="u", idempotency_key="k")).failure is None


async def test_unexpected_error_promises_neither_retry_nor_fallback(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.BREAKS
    for _ in range(2):
        answer = await kit.ask(SEARCH, QUERY)
        assert promised(answer) == {"retryable": False, "retry_after_ms": None, "fallback_available": False}


async def test_call_that_timed_out_waiting_for_its_duplicate_may_be_retried(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask(SEARCH, QUERY, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("search") == 1)
    hurried = await kit.ask(SEARCH, QUERY, user="u", idempotency_key="k", turn_budget_ms=310)
    assert (hurried.failure, promised(hurried)["retryable"]) == ("TIMEOUT", True)
    assert promised(hurried)["fallback_available"]
    kit.backends.catalog.gate.set()
    done = await first
    assert (await kit.ask(SEARCH, QUERY, user="u", idempotency_key="k")).value == done.value


async def test_duplicate_of_a_failed_call_without_fallback_is_promised_none(
    redis: MultiplexedRedis, moody: Backends
) -> None:
    async with open_kit(redis, moody, warm=False) as kit:
        moody.stock.mood = Mood.HANGS
        first = asyncio.create_task(kit.ask(STOCK, IDS, user="u", idempotency_key="k"))
        await eventually(lambda: kit.calls_of("availability") == 1)
        patient = replace(kit.registry.get(STOCK).tool, timeout_ms=2700)  # type: ignore[union-attr]
        kit.exchange(STOCK, tool=patient)
        second = await kit.ask(STOCK, IDS, user="u", idempotency_key="k")
        assert ((await first).failure, second.failure) == ("TIMEOUT", "SERVER_BUSY")
        assert promised(second) == {"retryable": True, "retry_after_ms": 100, "fallback_available": False}
