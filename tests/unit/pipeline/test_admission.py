"""The numbers by which calls are admitted, refused and kept apart."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from server.call import Call, Outcome, Principal, RequestMetadata
from server.identity.caller_limits import CallerLimits
from server.stages.admission import AdmitStage, ShedStage
from server.stages.cache import CacheStage, flight_key
from session.begin import BeginRequest, BeginResult
from session.history import LastShown
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import Rate
from session.turn import IMPLICIT, Turn, TurnRequest
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tools.registry import Registry
from tools.store.failures import DependencyFailure, RateLimited, ServerBusy, TimedOut

REGISTRY = Registry()
UNLIMITED = CallerLimits(None)
SEARCH = "search_manga_catalog"


def a_call(clock: HandClock, *, waited: float = 0.0, tool: str = SEARCH, user: str | None = None, **how: Any) -> Call:
    registered = REGISTRY.get(tool)
    assert registered is not None
    return Call("c", registered, {}, RequestMetadata(user=user), clock() - waited, clock=clock, **how)


async def well(_: Call) -> Outcome:
    return Outcome({})


# -- shed


async def test_calls_under_way_are_counted_and_released() -> None:
    clock = HandClock(0.0)
    shed = ShedStage(2, UNLIMITED, clock)
    seen: list[int] = []

    async def nested(call: Call) -> Outcome:
        seen.append(shed.under_way)
        assert not shed.idle.is_set()
        if len(seen) < 3:
            return await shed(replace(call), nested)
        return Outcome({})

    with pytest.raises(ServerBusy) as told:
        await shed(a_call(clock, origin="one"), nested)
    assert (seen, told.value.retry_after_ms) == ([1, 2], 100)
    assert (shed.under_way, shed.idle.is_set()) == (0, True)


async def test_caller_below_an_equal_share_is_admitted_beyond_the_limit() -> None:
    """The limit is four: one caller holds all four slots, a second gets two more, a third one more."""
    clock = HandClock(0.0)
    shed = ShedStage(4, UNLIMITED, clock)
    let_in: list[str] = []

    async def next_one(_: Call) -> Outcome:
        for origin in ("a", "b", "c"):
            try:
                let_in.append(origin)
                return await shed(a_call(clock, origin=origin), next_one)
            except ServerBusy:
                let_in.pop()
        return Outcome({})

    await next_one(a_call(clock))
    assert "".join(let_in) == "aaaabbc"


@cases(
    ("other", "let_in"),
    [
        ({"origin": "agent", "address": "10.0.0.2"}, False),  # the same principal, wherever it calls from
        ({"origin": "other", "address": "10.0.0.1"}, True),
        ({"address": "10.0.0.1"}, True),
        ({}, True),
    ],
)
async def test_callers_are_told_apart_by_principal_and_else_by_address(other: dict[str, str], let_in: bool) -> None:
    clock = HandClock(0.0)
    shed = ShedStage(2, UNLIMITED, clock)
    agent = {"origin": "agent", "address": "10.0.0.1"}

    async def when_all_places_are_taken(_: Call) -> Outcome:
        return await shed(a_call(clock, **other), well)

    async def second(_: Call) -> Outcome:
        return await shed(a_call(clock, **agent), when_all_places_are_taken)

    try:
        await shed(a_call(clock, **agent), second)
    except ServerBusy:
        assert not let_in
    else:
        assert let_in


async def test_customers_of_one_agent_share_its_slots_and_look_ups_have_an_extra_one() -> None:
    """Of four places: its first customer holds all of them, a second gets two more, a third one more. Then there is room for
    a look-up, and for another agent."""
    clock = HandClock(0.0)
    shed = ShedStage(4, UNLIMITED, clock)
    let_in: list[str] = []
    asked = [("a", "u", SEARCH), ("a", "v", SEARCH), ("a", "w", SEARCH), ("a", "u", "lookup_order"), ("b", "x", SEARCH)]

    async def next_one(_: Call) -> Outcome:
        for origin, user, tool in asked:
            try:
                let_in.append(f"{origin}{user}{tool[0]}")
                return await shed(a_call(clock, origin=origin, user=user, tool=tool), next_one)
            except ServerBusy:
                let_in.pop()
        return Outcome({})

    await next_one(a_call(clock))
    assert let_in == ["aus"] * 4 + ["avs"] * 2 + ["aws", "aul"] + ["bxs"] * 2
    assert (shed.under_way, shed.idle.is_set()) == (0, True)
    shed, let_in, asked = ShedStage(10, UNLIMITED, clock), [], [("a", "u", SEARCH), ("a", "u", "lookup_order")]
    await next_one(a_call(clock))
    assert let_in == ["aus"] * 10 + ["aul"] * 2, "look-ups have a fifth of the slots besides"


async def test_refusals_count_against_the_stated_customer_only() -> None:
    """Another customer of the agent and a customer of the same name at another agent are not affected."""
    clock = HandClock(0.0)
    shed = ShedStage(1, CallerLimits(Rate(1, 2), clock=clock), clock)

    async def refusal(origin: str, user: str) -> str:
        try:
            await shed(a_call(clock, origin=origin, user=user), well)
        except (RateLimited, ServerBusy) as told:
            return told.name
        return "let in"

    async def at_the_place(_: Call) -> Outcome:
        assert [await refusal("a", "loud") for _ in range(4)] == ["SERVER_BUSY"] * 2 + ["RATE_LIMITED"] * 2
        assert await refusal("a", "calm") == "SERVER_BUSY"
        return Outcome({})

    await shed(a_call(clock, origin="a", user="first"), at_the_place)
    assert await refusal("a", "loud") == "RATE_LIMITED"
    assert [await refusal("b", "loud"), await refusal("a", "calm")] == ["let in"] * 2
    clock.advance(1.0)
    assert await refusal("a", "loud") == "let in"


# -- admit


async def answers(admit: AdmitStage, clock: HandClock, seconds: float, left: float, *, fails: bool = False) -> str:
    async def inner(_: Call) -> Outcome:
        clock.advance(seconds)
        if fails:
            raise DependencyFailure("away")
        return Outcome({})

    try:
        await admit(a_call(clock, deadline=Deadline(clock() + left, clock)), inner)
    except TimedOut as told:
        return "refused" if told.retry_after_ms == 1000 else f"refused for {told.retry_after_ms} ms"
    except DependencyFailure:
        return "failed"
    return "ran"


async def test_slow_tool_is_refused_after_twenty_calls_and_probed_once_a_second() -> None:
    clock = HandClock(0.0)
    admit = AdmitStage(clock)
    for _ in range(20):
        assert await answers(admit, clock, 0.25, 0.125) == "ran"
    assert await answers(admit, clock, 0.25, 0.125) == "ran", "a probe"
    assert [await answers(admit, clock, 0.25, 0.125) for _ in range(2)] == ["refused"] * 2
    clock.advance(0.5)
    assert await answers(admit, clock, 0.25, 0.125) == "refused"
    clock.advance(0.25)
    assert await answers(admit, clock, 0.25, 0.125) == "ran"


@cases(("seconds", "then"), [(0.0625, "ran"), (0.25, "refused")])
async def test_probe_in_half_the_time_readmits_the_tool(seconds: float, then: str) -> None:
    clock = HandClock(0.0)
    admit = AdmitStage(clock)
    for _ in range(20):
        await answers(admit, clock, 1.0, 0.5)
    assert await answers(admit, clock, seconds, 0.5) == "ran"
    assert await answers(admit, clock, 0.0, 0.5) == then


async def test_failed_calls_count_as_slow_too() -> None:
    clock = HandClock(0.0)
    admit = AdmitStage(clock)
    for _ in range(20):
        assert await answers(admit, clock, 0.25, 0.125, fails=True) == "failed"
    assert await answers(admit, clock, 0.25, 0.125) == "ran", "a probe"
    assert await answers(admit, clock, 0.25, 0.125) == "refused"


async def test_slowness_of_one_tool_refuses_no_other_tool() -> None:
    clock = HandClock(0.0)
    admit = AdmitStage(clock)
    for _ in range(22):
        await answers(admit, clock, 0.25, 0.125)
    other = a_call(clock, tool="get_manga_details", deadline=Deadline(clock() + 0.125, clock))
    assert await admit(other, well)


# -- a call's own time


def test_ladder_step_ends_ten_ms_after_the_deadline_and_has_at_least_four_ms() -> None:
    clock = HandClock(0.0)
    assert a_call(clock).fallback_deadline(0.5).at == 0.5
    for left, end in ((1.0, 0.5), (0.25, 0.26), (0.0, 0.01), (-1.0, 0.004)):
        assert a_call(clock, deadline=Deadline(left, clock)).fallback_deadline(0.5).at == pytest.approx(end)


@cases(
    ("arguments", "cost"),
    [
        ({}, 1),
        ({"query": "x" * 239, "max_results": 5}, 1),
        ({"query": "x" * 240}, 2),
        ({"query": "x" * 100, "without": ["x" * 200, 7, "x" * 60]}, 3),
    ],
)
def test_call_costs_as_much_as_one_for_each_120_letters(arguments: dict[str, Any], cost: int) -> None:
    call = a_call(HandClock())
    call.arguments = arguments
    assert call.cost == cost


def test_elapsed_time_of_a_call_is_in_milliseconds() -> None:
    clock = HandClock(0.0)
    call = a_call(clock)
    clock.advance(1.5)
    assert call.elapsed_ms() == 1500.0
    assert abs(Call("c", call.tool, {}, RequestMetadata(), time.monotonic()).elapsed_ms()) < 60_000


# -- who flies together


def shown(clock: HandClock, *title_ids: str, tool: str, user: str | None = None) -> Call:
    turn = Turn(IMPLICIT, 3000, Deadline(clock() + 3, clock))
    request = BeginRequest("s", user, TurnRequest("", IMPLICIT, 0.0))
    begun = BeginResult(request, turn, last=LastShown(title_ids, (), "q"))
    return a_call(clock, tool=tool, begin_result=begun, principal=Principal(user=user))


def test_equal_searches_share_a_single_flight_whatever_was_shown_before() -> None:
    clock = HandClock()
    one = shown(clock, "manga-000001", tool="search_manga_catalog", user="a")
    assert flight_key(one) == flight_key(shown(clock, "manga-000002", tool="search_manga_catalog", user="b"))
    assert flight_key(one) == flight_key(a_call(clock))


def test_calls_that_refer_to_shown_titles_share_a_flight_only_for_the_same_titles() -> None:
    clock = HandClock()
    one = shown(clock, "manga-000001", tool="check_inventory")
    assert flight_key(one) == flight_key(shown(clock, "manga-000001", tool="check_inventory"))
    assert flight_key(one) != flight_key(shown(clock, "manga-000002", tool="check_inventory"))
    assert flight_key(one) != flight_key(shown(clock, "manga-000001", tool="check_inventory", user="a"))
    assert flight_key(one) != flight_key(a_call(clock, tool="check_inventory"))


async def test_closing_the_cache_stage_cancels_its_flights() -> None:
    clock, cancelled, begun = HandClock(), asyncio.Event(), asyncio.Event()
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))

    async def hangs(_: Call) -> Outcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError("unreachable")

    cache = CacheStage(None, enabled=False, wall=clock)  # type: ignore[arg-type]
    waiting = asyncio.create_task(cache(a_call(clock, deadline=Deadline(clock() + 3600, clock)), hangs))
    async with asyncio.timeout(30):
        await begun.wait()
        await cache.aclose()
        with pytest.raises(TimedOut):
            await waiting
    await asyncio.sleep(0)
    assert (cancelled.is_set(), errors) == (True, [])
    assert not cache.flights
