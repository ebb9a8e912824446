"""An observed call has a timeline of its stages, and an unobserved one has none."""

from __future__ import annotations

import asyncio
import logging

import pytest

from server.call import Call
from tests.support.calls import ARGUMENTS, IDS, QUERY
from tests.support.observers import Wants, of_kind, path
from tests.support.pipeline import Kit, Opener
from tests.support.store import Mood
from tests.support.valkey import eventually

pytestmark = pytest.mark.virtual_time
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STAGES = [
    "guard", "shed", "identity", "validate", "session", "shorten", "idempotency", "remember", "complete", "fallback", "cache", "admit",
    "deadline",
]  # fmt: skip


@pytest.fixture
async def watched(opener: Opener) -> Kit:
    kit: Kit = await opener(observers=[Wants(traces=True)])
    return kit


async def test_unobserved_call_has_no_timeline(opener: Opener) -> None:
    observer = Wants(tools=("check_inventory",))
    kit = await opener(observers=[observer])
    answer = await kit.ask("search_manga_catalog", QUERY)
    assert (kit.events[-1].timeline, answer.call.span) == (None, None)
    await kit.ask("check_inventory", IDS)
    assert kit.events[-1].timeline is not None
    assert observer.asked == ["search_manga_catalog", "check_inventory"]


async def test_failing_observer_affects_neither_the_answer_nor_other_observers(
    opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    class Fails(Wants):
        def wants(self, call: Call) -> bool:
            raise ValueError("a fault")

    kit = await opener(observers=[Fails(traces=True), Wants()])
    assert (await kit.ask("check_inventory", IDS)).failure is None
    timeline = kit.events[-1].timeline
    assert timeline is not None
    assert not timeline.sampled
    assert "an observer failed" in caplog.text


async def test_timeline_nests_every_stage_in_the_one_around_it(watched: Kit) -> None:
    await watched.ask("search_manga_catalog", QUERY, session="s", traceparent=TRACE)
    timeline = watched.events[-1].timeline
    (tool,) = (each for each in of_kind(timeline, "work") if each.name == "search_manga_catalog")
    assert path(timeline, tool) == [*STAGES, "search_manga_catalog"]
    assert timeline is not None
    assert (f"{timeline.trace_id:032x}", f"{timeline.parent_id:016x}") == tuple(TRACE.split("-")[1:3])
    assert {each.outcome for each in timeline.spans} == {"ok"}
    for each in timeline.spans:
        around = timeline.call if each.parent is None else timeline.spans[each.parent]
        assert each.ended is not None
        assert around.ended is not None
        assert around.started <= each.started <= each.ended <= around.ended


async def test_attempts_and_redis_round_trips_are_recorded_under_their_stage(watched: Kit) -> None:
    await watched.ask("search_manga_catalog", QUERY, session="s")
    timeline = watched.events[-1].timeline
    made = {(each.name, each.attributes["operation"]): each for each in of_kind(timeline, "attempt")}
    search, stock = made["catalog", "search"], made["stock", "availability"]
    assert path(timeline, search) == [*STAGES, "search_manga_catalog", "catalog"]
    assert path(timeline, stock) == [*STAGES[:9], "complete", "stock"]
    assert (search.attributes["attempt"], search.attributes["waited_ms"]) == (1, 0.0)
    begin, end = of_kind(timeline, "redis")
    assert [path(timeline, each) for each in (begin, end)] == [[*STAGES[:5], "begin"], [*STAGES[:5], "end"]]


async def test_failed_attempt_and_its_retry_are_two_spans(watched: Kit) -> None:
    watched.backends.orders.mood = Mood.FAILS
    answer = await watched.ask("lookup_order", ARGUMENTS["lookup_order"], user="demo-user-1")
    timeline = watched.events[-1].timeline
    attempts = of_kind(timeline, "attempt")
    assert answer.failure == "DEPENDENCY_FAILURE"
    assert [(each.attributes["attempt"], each.outcome) for each in attempts] == [
        (1, "DEPENDENCY_FAILURE"),
        (2, "DEPENDENCY_FAILURE"),
    ]
    stages = {each.name: each.outcome for each in of_kind(timeline, "stage")}
    assert set(stages.values()) == {"DEPENDENCY_FAILURE"}, "the guard's too, which answers with it"


async def test_open_breaker_and_fallback_are_recorded_in_the_timeline(watched: Kit) -> None:
    watched.guards["catalog"].breaker.record_failure(watched.guards["catalog"].breaker.era, "down")
    for _ in range(10):
        watched.guards["catalog"].breaker.record_failure(watched.guards["catalog"].breaker.era, "down")
    answer = await watched.ask("search_manga_catalog", QUERY)
    timeline = watched.events[-1].timeline
    assert answer.meta["fallback"] == "cached_popular_manga"
    assert [each.outcome for each in of_kind(timeline, "attempt") if each.name == "catalog"] == ["CIRCUIT_OPEN"]
    assert {each.name: each.outcome for each in of_kind(timeline, "work")} == {
        "search_manga_catalog": "CIRCUIT_OPEN",
        "cached_popular_manga": "ok",
        "complete": "ok",
    }


async def test_work_stopped_at_the_deadline_is_recorded_as_timeout(watched: Kit) -> None:
    watched.backends.catalog.mood = Mood.HANGS
    answer = await watched.ask("search_manga_catalog", QUERY)
    timeline = watched.events[-1].timeline
    await eventually(lambda: not watched.pipeline.cache.flights)
    assert answer.meta["fallback"] == "cached_popular_manga"
    assert {each.outcome for each in of_kind(timeline, "attempt") if each.name == "catalog"} == {"TIMEOUT"}
    stages = {each.name: each.outcome for each in of_kind(timeline, "stage")}
    assert (stages["fallback"], stages["cache"], stages["deadline"]) == ("ok", "TIMEOUT", "TIMEOUT")


async def test_cancelled_call_is_recorded_as_cancelled_in_every_stage(watched: Kit) -> None:
    watched.backends.catalog.gate = asyncio.Event()
    task = asyncio.create_task(watched.ask("search_manga_catalog", QUERY))
    await eventually(lambda: watched.calls_of("search") == 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    timeline = watched.events[-1].timeline
    assert timeline is not None
    assert timeline.call.outcome == "cancelled"
    assert {each.name: each.outcome for each in of_kind(timeline, "stage")}["cache"] == "cancelled"
    assert not [each for each in timeline.spans if each.ended is None]


async def test_shared_flight_is_recorded_by_its_first_caller_and_linked_by_the_others(watched: Kit) -> None:
    watched.backends.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(watched.ask("search_manga_catalog", QUERY, user=user)) for user in ("u", "v")]
    await eventually(lambda: sum(each.waiting for each in watched.pipeline.cache.flights.values()) == 2)
    watched.backends.catalog.gate.set()
    await asyncio.gather(*tasks)
    ours = sorted((each.timeline for each in watched.events), key=lambda each: len(of_kind(each, "attempt")), reverse=True)
    began, joined = ours
    assert [each.name for each in of_kind(began, "attempt")].count("catalog") == 1
    (waited,) = (each for each in of_kind(joined, "work") if each.name == "flight")
    assert began is not None
    (cache,) = (each for each in of_kind(began, "stage") if each.name == "cache")
    assert str(waited.attributes["joined"]).split("-")[1:3] == [f"{began.trace_id:032x}", f"{cache.span_id:016x}"]
    assert not [each for each in of_kind(joined, "attempt") if each.name == "catalog"]


async def test_joined_flight_that_is_not_traced_has_no_link(opener: Opener) -> None:
    observer = Wants(traces=True)
    kit = await opener(observers=[observer])
    kit.backends.catalog.gate = asyncio.Event()
    observer.tools = ("none",)
    first = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: kit.calls_of("search") == 1)
    observer.tools = ()
    second = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: sum(each.waiting for each in kit.pipeline.cache.flights.values()) == 2)
    kit.backends.catalog.gate.set()
    await asyncio.gather(first, second)
    (timeline,) = (each.timeline for each in kit.events if each.timeline)
    (waited,) = (each for each in of_kind(timeline, "work") if each.name == "flight")
    assert waited.attributes == {"joined": ""}


async def test_background_refresh_is_not_in_the_timeline_of_the_stale_answer(watched: Kit) -> None:
    await watched.ask("search_manga_catalog", QUERY)
    policy = watched.registry.get("search_manga_catalog").tool.cache  # type: ignore[union-attr]
    assert policy is not None
    watched.clock.advance(policy.fresh_seconds * 1.5)
    answer = await watched.ask("search_manga_catalog", QUERY)
    await eventually(lambda: not watched.pipeline.cache.refreshes)
    timeline = watched.events[-1].timeline
    assert (answer.meta["source"], watched.calls_of("search")) == ("stale", 2)
    assert not [each for each in of_kind(timeline, "attempt") if each.name == "catalog"]


async def test_open_redis_breaker_is_recorded_as_circuit_open(watched: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    breaker = watched.app.dependencies.probes["redis"][1]
    while breaker.allow_call():
        breaker.record_failure(breaker.era, "away")
    await watched.ask("check_inventory", IDS, session="s")
    assert [each.outcome for each in of_kind(watched.events[-1].timeline, "redis")] == ["CIRCUIT_OPEN"]


async def test_backends_get_a_sampled_span_only_for_traced_calls(opener: Opener) -> None:
    """A call observed for the operators' page only is no part of a trace."""
    for observers, told in (([Wants()], False), ([Wants(), Wants(traces=True)], True)):
        kit = await opener(observers=observers)
        kit.backends.stock.asked.clear()
        await kit.ask("check_inventory", IDS)
        asked = [arguments[-1] for name, arguments in kit.backends.stock.asked if name == "availability"]
        assert [each.span is not None for each in asked] == [True]
        timeline = kit.events[-1].timeline
        assert timeline is not None
        assert timeline.sampled is told


async def test_timeline_contains_nothing_personal(watched: Kit, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await watched.ask("lookup_order", {"order_id": "MNG-DEMO1001"}, user="demo-user-1", session="secret-session")
    await watched.ask("search_manga_catalog", {"query": "one secret wish"}, user="demo-user-1", session="secret-session")
    for event in watched.events:
        assert event.timeline is not None
        said = [(each.name, each.outcome, each.attributes) for each in event.timeline.spans]
        assert not [word for word in ("MNG-DEMO1001", "demo-user-1", "secret") if word in str(said)]
