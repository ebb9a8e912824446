"""How old a kept result may be at each stage, how long the stages keep and wait, and how much they tell."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from server.call import Call, Outcome, Principal, RequestMetadata
from server.stages.answer import CompleteStage, FallbackStage, Standby, ToolRunner
from server.stages.cache import CacheStage
from server.stages.session import CallPreferences, SessionStage, drop_foreign_results, make_entry
from server.stages.telemetry import event_of
from session.begin import BeginRequest, BeginResult, CachedResult, Claim, ClaimState
from session.history import LastShown
from session.redis.keyvalue import Command
from session.resilience.deadline import Deadline
from session.turn import IMPLICIT, Turn, TurnRequest
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.virtual_time import running_clock
from tools.contract import Json, ToolContext
from tools.registry import Registry
from tools.store.currency import YEN
from tools.store.failures import DependencyFailure, InvalidArguments, Violation

RESULT = {"results": [], "total": 0, "result_set": "rs_" + "a" * 16}
FRESH, STALE = 300, 86_400
CLOCK = HandClock(1_000_000.0)


def a_call(cached: float | None = None, *, left: float = 3.0, user: str | None = None, claimed: float | None = None) -> Call:
    """A search whose result was cached or recorded so many seconds ago, in a turn that ends after so many."""
    found = Registry().get("search_manga_catalog")
    assert found is not None
    assert found.tool.cache is not None
    assert (found.tool.cache.fresh_seconds, found.tool.cache.stale_seconds) == (FRESH, STALE)
    request = BeginRequest("s", user, TurnRequest("", IMPLICIT, CLOCK()))
    turn = Turn(IMPLICIT, 3000, Deadline(CLOCK() + left, CLOCK))
    kept, recorded = (None if age is None else CachedResult(RESULT, CLOCK() - age) for age in (cached, claimed))
    claim = None if recorded is None else Claim(ClaimState.DONE, recorded)
    begun = BeginResult(request, turn, cached=kept, claim=claim)
    deadline = Deadline(CLOCK() + left, CLOCK)
    how: Any = {"clock": CLOCK, "begin_result": begun, "deadline": deadline, "principal": Principal(user=user)}
    return Call(
        "c", replace(found, tool=replace(found.tool, fallback=None)), {"query": "x"}, RequestMetadata(), CLOCK(), **how
    )


async def failing(_: Call) -> Outcome:
    raise DependencyFailure("away")


@cases(
    ("age", "enabled", "source"),
    [
        (FRESH, True, "cache"),
        (FRESH + 0.5, True, "stale"),
        (2 * FRESH, True, "stale"),
        (2 * FRESH + 0.5, True, "live"),
        (None, True, "live"),
        (0, False, "live"),
    ],
)
async def test_cached_result_is_fresh_and_then_stale_for_as_long_again(
    age: float | None, enabled: bool, source: str
) -> None:
    stage = CacheStage(None, enabled=enabled, wall=CLOCK)  # type: ignore[arg-type]
    try:
        given = (await stage(a_call(age), failing)).source
    except DependencyFailure:
        given = "live"
    assert (given, len(stage.refreshes)) == (source, source == "stale")
    await stage.aclose()


@cases(("draw", "seconds"), [(0.0, STALE), (1.0, STALE * 9 // 10)])
async def test_live_result_is_kept_for_a_jittered_time(draw: float, seconds: int) -> None:
    """Its time is rounded to milliseconds, as stored results are."""

    async def handler(context: ToolContext, asked: Json) -> Json:
        return RESULT

    stage, call = CacheStage(None, enabled=True, wall=CLOCK, draw=lambda: draw), a_call()  # type: ignore[arg-type]
    call.tool = replace(call.tool, tool=replace(call.tool.tool, handler=handler))
    outcome = await stage(call, ToolRunner(SimpleNamespace(currency=YEN), lambda: 1.23456))  # type: ignore[arg-type]
    assert (outcome.source, outcome.as_of) == ("live", 1.235)
    (step,) = call.pending_writes
    assert isinstance(step, Command)
    assert (step[0], bytes(step[2])[:5], step[3:]) == ("SET", b"1235 ", ("EX", seconds))  # type: ignore[arg-type]


@cases(("age", "source"), [(STALE, "stale"), (STALE + 0.5, None), (None, None)])
async def test_stale_result_answers_in_place_of_a_failed_backend_until_it_expires(
    age: float | None, source: str | None
) -> None:
    stage = FallbackStage(SimpleNamespace(currency=YEN), CLOCK)  # type: ignore[arg-type]
    try:
        outcome = await stage(a_call(age), failing)
    except DependencyFailure:
        assert source is None
    else:
        assert (outcome.source, outcome.as_of) == (source, CLOCK() - STALE)


@pytest.mark.virtual_time
@cases(("left", "given"), [(3.0, 2.85), (0.45, 0.3), (0.3, 0.2)])
async def test_standby_has_the_last_150_ms_of_a_call_or_the_last_third(left: float, given: float) -> None:
    began, cancelled = running_clock()(), list[float]()

    async def hangs(_: Call) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(running_clock()() - began)
        raise AssertionError

    async def handler(context: ToolContext, asked: Json) -> Json:
        return RESULT

    call = replace(a_call(), clock=running_clock(), deadline=Deadline(began + left, running_clock()))
    call.tool = replace(call.tool, tool=replace(call.tool.tool, handler=handler))
    store: Any = SimpleNamespace(currency=YEN)
    outcome = await FallbackStage(store, CLOCK, lambda tool, usual: Standby("standby", store, 7.0))(call, hangs)
    assert cancelled == [pytest.approx(given)]
    assert (outcome.source, outcome.fallback, outcome.as_of) == ("fallback", "standby", 7.0)


@cases(
    ("left", "in_turn", "given"),
    [(3.0, 3.0, 3.0), (0.025, 3.0, 0.03), (0.0, 3.0, 0.01), (-1.0, 3.0, 0.004), (0.0, 0.25, 0.0)],
)
async def test_price_and_stock_are_added_in_30_ms_or_the_time_left(left: float, in_turn: float, given: float) -> None:
    """The stock of named titles is read beside the tool, unless the turn is exhausted, and no longer than the call."""
    seen: list[float] = []
    reads: list[str] = []

    async def read(titles: tuple[str, ...], deadline: Deadline) -> None:
        try:
            reads.append(*titles)
            await asyncio.Event().wait()
        finally:
            reads.append("cancelled")

    async def complete(context: ToolContext, result: Json) -> Json:
        seen.append(context.deadline.at - CLOCK())
        assert (context.stock is None) is (reads == [])
        return result | {"completed": True}

    async def inner(_: Call) -> Outcome:
        await asyncio.sleep(0)
        return Outcome(RESULT)

    call = replace(a_call(left=in_turn), deadline=Deadline(CLOCK() + left, CLOCK))
    call.tool = replace(call.tool, tool=replace(call.tool.tool, complete=complete, stock_of=lambda asked: ("a",)))
    store: Any = SimpleNamespace(currency=YEN, stock=SimpleNamespace(read_available=read))
    async with asyncio.timeout(30):
        outcome = await CompleteStage(store)(call, inner)
    assert outcome.value == RESULT | {"completed": True}
    assert seen == [pytest.approx(given, abs=1e-6)]
    assert reads == ([] if in_turn < 0.3 else ["a", "cancelled"])


@cases(("age", "ours"), [(1_000_000.0, True), (1_000_000.5, False), (0.0, True), (-60.0, True), (-60.5, False)])
def test_result_dated_before_the_epoch_or_over_a_minute_ahead_is_dropped(age: float, ours: bool) -> None:
    call = a_call(age, claimed=age)
    begun = drop_foreign_results(call, call.required_begin, CLOCK())
    assert begun.claim is not None
    assert (begun.cached is not None, begun.claim.result is not None) == (ours, ours)


@cases(("left", "seconds", "recorded"), [(3.0, 0.06, 0.81), (0.44, 0.06, 0.2), (0.3, 0.025, 0.04), (0.2, 0.0, 0.04)])
async def test_preferences_are_read_and_the_call_is_recorded_within_the_time_of_the_turn(
    left: float, seconds: float, recorded: float
) -> None:
    """They are read for 60 ms or a quarter of the turn. A call is recorded until 10 ms after its deadline, in an exhausted
    turn until 40 ms after its arrival."""
    given: list[float] = []

    async def read(user: str, deadline: Deadline) -> tuple[Any, ...]:
        given.append(deadline.remaining())
        return ()

    store: Any = SimpleNamespace(preferences=SimpleNamespace(read=read, copy=lambda user, kept: Command(("SET", user))))
    call = a_call(left=left, user="u")
    await CallPreferences(store).apply(call, call.required_begin)
    assert given == [pytest.approx(seconds, abs=0.0003)]
    assert call.pending_writes == [Command(("SET", "u"))]
    ends: list[float | None] = []

    async def begin(request: BeginRequest) -> BeginResult:
        return a_call(left=left).required_begin

    async def end(steps: object, until: float | None, span: object) -> bool:
        ends.append(until)
        return True

    async def inner(_: Call) -> Outcome:
        return Outcome(RESULT)

    recent = SimpleNamespace(keep_set=lambda key, ids: None, mark_written=list)
    memory: Any = SimpleNamespace(begin=begin, end=end, pause=lambda request: [], leave=id, recent=recent)
    await SessionStage(memory, CallPreferences(store), 5000, cache=False, wall=CLOCK)(a_call(left=left), inner)
    assert ends == [pytest.approx(recorded, abs=0.0011)]


def test_history_has_200_letters_and_five_titles_of_a_call_and_its_event_five_violations() -> None:
    """The name of an unknown property is the caller's text, which is left out."""
    call = a_call()
    call.arguments = {"query": "x" * 201}
    shown = LastShown(tuple("abcdef"), tuple("ABCDEF"), "q")
    before, after = (
        make_entry(replace(call, validated=done), Outcome(RESULT), shown, {}, 1.23456) for done in (False, True)
    )
    assert (before.words, after.words) == ("", "x" * 200)
    assert (after.shown, after.at, after.cache_hit) == (tuple(zip("abcde", "ABCDE", strict=True)), 1.235, False)
    of_one = make_entry(call, Outcome(RESULT, source="cache"), None, {"title_id": "a", "title": "A"}, 1.0)
    assert (of_one.shown, of_one.cache_hit) == ((("a", "A"),), True)

    broken = [Violation(f"$.p{n}", "additionalProperties" if n == 1 else "type", "m", "f") for n in range(6)]
    event = event_of(a_call(), Outcome(failure=InvalidArguments(broken)))
    assert event.violations == (("$.p0", "type"), ("$", "additionalProperties"), *((f"$.p{n}", "type") for n in (2, 3, 4)))
    assert (event.outcome, event.source, event.empty, event.turn_over) == ("VALIDATION_ERROR", None, False, False)
    found = event_of(a_call(left=0.25), Outcome(RESULT, source="cache"))
    assert (found.outcome, found.source, found.empty, found.turn_over) == ("ok", "cache", True, True)
    assert (found.violations, found.budget_left_ms, found.audited) == ((), 50, None)
