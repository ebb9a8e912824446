"""What ends a call, and how long a fallback may delay its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from server.call import FALLBACK, Call, Outcome, RequestMetadata
from server.stages.admission import DeadlineStage
from server.stages.answer import FallbackStage
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import open_kit
from tests.support.store import Backends
from tests.support.valkey import eventually
from tools.contract import Fallback, Json, Tool, ToolContext
from tools.registry import TOOLS, Registry
from tools.store.currency import YEN
from tools.store.failures import DependencyFailure, TimedOut

OVER, FAR = Deadline(0.0), Deadline(time.monotonic() + 3600)
BOUND = 5.0


def a_call(**how: Any) -> Call:
    registered = Registry().get("search_manga_catalog")
    assert registered is not None
    return Call("c", registered, {}, RequestMetadata(), time.monotonic(), **how)


class Hanging:
    """Work that ends only when it is cancelled."""

    cancelled = False

    async def __call__(self, *_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def limited(call: Call, inner: Callable[..., Any]) -> Outcome:
    async with asyncio.timeout(BOUND):
        return await DeadlineStage()(call, inner)


@cases(("deadline", "flight"), [(OVER, None), (FAR, OVER), (None, OVER)])
async def test_hanging_work_is_cancelled_at_the_deadline(deadline: Deadline | None, flight: Deadline | None) -> None:
    """In a flight it is the flight's deadline: a caller in a hurry does not end work that others await."""
    hanging = Hanging()
    with pytest.raises(TimedOut, match="took too long") as told:
        await limited(a_call(deadline=deadline, flight_deadline=flight), hanging)
    assert hanging.cancelled
    assert told.value.retry_after_ms == 100
    assert told.value.retryable


@cases(("deadline", "flight"), [(FAR, None), (OVER, FAR)])
async def test_work_within_the_deadline_is_passed_on(deadline: Deadline, flight: Deadline | None) -> None:
    outcome = Outcome({"n": 1})

    async def inner(_: Call) -> Outcome:
        await asyncio.sleep(0)
        return outcome

    assert await limited(a_call(deadline=deadline, flight_deadline=flight), inner) is outcome


@pytest.mark.virtual_time
async def test_hanging_refresh_ends_at_the_tool_timeout(redis: MultiplexedRedis, moody: Backends) -> None:
    """No caller waits and no backend guard is in its way: the stage alone cancels it and frees its slot."""
    hanging, hangs = Hanging(), False

    async def handler(context: ToolContext, asked: Json) -> Json:
        if hangs:
            await hanging()
        return {"results": [], "total": 0, "result_set": "rs_" + "a" * 16}

    tool = replace(_tool("search_manga_catalog"), handler=handler)
    async with open_kit(redis, moody, tools=[tool]) as kit:
        call = kit.call(tool.name, {"query": "x"}, session="s")
        await kit.pipeline.run(call)
        hangs = True
        kit.pipeline.cache.start_refresh("key", call, _inner(kit))
        await eventually(lambda: hanging.cancelled)
        await eventually(lambda: not kit.pipeline.cache.refreshes)


def _inner(kit: Any) -> Any:
    """What stands below the cache stage."""
    handler = kit.pipeline.run
    while handler.keywords["name"] != "cache":
        handler = handler.keywords["inner"]
    return handler.keywords["inner"]


def _tool(name: str) -> Tool:
    return next(tool for tool in TOOLS if tool.name == name)


@cases(
    ("left", "held"),
    [
        (3600.0, 0.025),  # all that a rung ever has
        (0.01, 0.02),  # until 10 ms past the call's own end
        (0.0, 0.01),
        (-1.0, 0.004),  # what is there at once is still given
    ],
)
async def test_fallback_has_the_rest_of_the_call_within_its_bounds_as_deadline(left: float, held: float) -> None:
    seen: list[float] = []

    async def rung(context: ToolContext, asked: Json) -> Json:
        seen.append(context.deadline.at)
        return {}

    async def failing(_: Call) -> Outcome:
        raise DependencyFailure("away")

    clock = HandClock()
    call = a_call(deadline=Deadline(clock() + left, clock), clock=clock)
    call.tool = replace(call.tool, tool=replace(call.tool.tool, fallback=Fallback("rung", rung)))
    outcome = await FallbackStage(SimpleNamespace(currency=YEN), time.time)(call, failing)  # type: ignore[arg-type]
    assert (outcome.source, outcome.fallback, call.fallback_tried) == (FALLBACK, "rung", True)
    assert seen == [pytest.approx(clock() + held)]
