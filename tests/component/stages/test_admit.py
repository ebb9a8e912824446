"""A tool whose recent latency exceeds the time left is not started."""

from __future__ import annotations

import asyncio

import pytest

from server.call import Call, Outcome
from server.stages.admission import AdmitStage
from session.resilience.deadline import Deadline
from tests.support.calls import QUERY
from tests.support.clocks import HandClock
from tests.support.pipeline import Kit
from tools.store.failures import TimedOut

pytestmark = pytest.mark.virtual_time


async def slow_calls(admit: AdmitStage, kit: Kit, clock: HandClock, seconds: float, how_many: int) -> list[str]:
    """Calls with 800 ms each, of a tool that takes `seconds`."""
    told = []
    for _ in range(how_many):
        call = kit.call("search_manga_catalog", QUERY)
        call.deadline = Deadline.after(0.8, clock)

        async def inner(_: Call) -> Outcome:
            clock.advance(seconds)
            return Outcome({})

        try:
            await admit(call, inner)
            told.append("ran")
        except TimedOut:
            told.append("refused")
    return told


async def test_slow_tool_is_refused_except_for_one_probe_a_second(kit: Kit) -> None:
    clock = HandClock()
    assert await slow_calls(AdmitStage(clock), kit, clock, 0.6, 40) == ["ran"] * 40, "p95 is below what is left"
    clock = HandClock()
    admit = AdmitStage(clock)
    assert await slow_calls(admit, kit, clock, 0.9, 25) == ["ran"] * 21 + ["refused"] * 4, "twenty samples, then a probe"
    clock.advance(0.1)
    assert await slow_calls(admit, kit, clock, 0.9, 3) == ["ran", "refused", "refused"]


async def test_recovered_tool_is_readmitted_after_one_probe(kit: Kit) -> None:
    clock = HandClock()
    admit = AdmitStage(clock)
    await slow_calls(admit, kit, clock, 0.1, 3)
    await slow_calls(admit, kit, clock, 0.79, 40)
    clock.advance(1.0)
    await slow_calls(admit, kit, clock, 0.9, 20)
    clock.advance(1.0)
    assert await slow_calls(admit, kit, clock, 0.01, 30) == ["ran"] * 30


async def test_failed_calls_count_into_the_latency_of_a_tool(kit: Kit) -> None:
    clock = HandClock()
    admit = AdmitStage(clock)

    async def failing(_: Call) -> Outcome:
        clock.advance(0.8)
        raise TimedOut("late")

    call = kit.call("search_manga_catalog", QUERY)
    for _ in range(21):
        call.deadline = Deadline.after(0.8, clock)
        with pytest.raises(TimedOut, match="late"):
            await admit(call, failing)
    call.deadline = Deadline.after(0.5, clock)
    with pytest.raises(TimedOut, match="longer than"):
        admit._probed_at[call.name] = clock()
        await admit(call, failing)


async def test_cancelled_calls_do_not_count_into_the_latency_of_a_tool(kit: Kit) -> None:
    """Fifty cancelled calls make a slow tool look no faster, and a fast one no slower."""
    clock = HandClock()
    admit = AdmitStage(clock)

    async def left(_: Call) -> Outcome:
        clock.advance(0.01)
        raise asyncio.CancelledError

    await slow_calls(admit, kit, clock, 0.7, 25)
    for _ in range(50):
        call = kit.call("search_manga_catalog", QUERY)
        call.deadline = Deadline.after(0.8, clock)
        with pytest.raises(asyncio.CancelledError):
            await admit(call, left)
    assert admit._sketches["search_manga_catalog"].count() == 25
