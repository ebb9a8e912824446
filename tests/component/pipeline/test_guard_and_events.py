"""An unexpected error's text reaches no caller, and every call emits one event."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

import pytest

from server.call import Call, Outcome
from server.stages.session import CallPreferences, SessionStage
from server.stages.telemetry import TelemetryStage
from server.telemetry.events import CallFinished
from session.failures import MemoryUnavailable
from tests.support.calls import QUERY, caller_errors
from tests.support.pipeline import Kit
from tests.support.store import Mood
from tests.support.valkey import eventually
from tools.store.failures import DependencyFailure

pytestmark = pytest.mark.virtual_time


async def test_unexpected_error_is_logged_and_not_returned_to_the_caller(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.backends.catalog.mood = Mood.BREAKS
    with caplog.at_level(logging.ERROR):
        answer = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    assert answer.failure == "INTERNAL_ERROR"
    assert "hunter2" not in json.dumps(answer.result)
    assert "hunter2" in caplog.text
    assert kit.open_breakers() == []
    assert kit.events[-1].outcome == "INTERNAL_ERROR"


async def test_every_call_emits_one_event_even_if_cancelled(kit: Kit) -> None:
    await caller_errors(kit)
    told = len(kit.events)
    assert told == 9
    kit.backends.catalog.gate = asyncio.Event()
    task = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", traceparent="x"))
    await eventually(lambda: kit.calls_of("search") == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (event,) = kit.events[told:]
    assert (event.outcome, event.source, event.traceparent) == ("cancelled", None, "x")
    assert "u" != event.user != "anonymous"


async def test_failing_event_sink_affects_neither_the_answer_nor_other_sinks(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: CallFinished) -> None:
        raise RuntimeError("the collector is full")

    async def answered(call: Call) -> Outcome:
        return Outcome({"ok": True})

    events: list[CallFinished] = []
    stage = TelemetryStage([broken, events.append])
    assert (await stage(kit.call("search_manga_catalog", QUERY), answered)).value == {"ok": True}
    assert len(events) == 1
    assert "sink failed" in caplog.text


async def test_failure_outcome_is_recorded_as_failed_in_the_history(kit: Kit) -> None:
    async def failed(call: Call) -> Outcome:
        return Outcome(failure=DependencyFailure("down"))

    stage = SessionStage(kit.memory, CallPreferences(kit.store), 5000, cache=True, wall=time.time)
    call = kit.call("search_manga_catalog", QUERY)
    call.session = "s"
    assert (await stage(call, failed)).text is None
    (recorded,) = (await kit.memory.recall("s", None)).calls
    assert (recorded.summary, recorded.succeeded) == ("DEPENDENCY_FAILURE", False)


async def test_lost_second_round_trip_is_reported_as_degraded(kit: Kit) -> None:
    inner = kit.redis.inner

    class OnlyBegins:
        async def trip(self, steps: Any, deadline: Any) -> Any:
            if len(kit.redis.trips) > 1:
                raise MemoryUnavailable("away")
            return await inner.trip(steps, deadline)

        async def aclose(self) -> None: ...

    kit.redis.inner = OnlyBegins()  # type: ignore[assignment]
    answer = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    assert (answer.failure, answer.meta["degraded"]) == (None, ["session"])


async def test_failed_call_is_marked_as_failed_in_the_history(kit: Kit) -> None:
    await kit.ask("get_manga_details", {"title_id": "manga-999999"}, session="s", user="u")
    recollection = await kit.memory.recall("s", "u")
    assert recollection.calls[0].succeeded is False
    assert recollection.calls[0].summary == "NOT_FOUND"
    assert recollection.totals["failures"] == 1
