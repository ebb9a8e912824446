"""A server that ends keeps serving until the turns that it knows have ended."""

from __future__ import annotations

import time

from server.identity.caller_limits import CallerLimits
from server.runtime.lifecycle import Lifecycle, drain
from server.stages.admission import ShedStage
from session.turn import LocalTurn, Turns


async def test_draining_lasts_until_the_latest_turn_has_ended_although_no_call_runs() -> None:
    started, lifecycle, turns = time.monotonic(), Lifecycle(), Turns(3000, time.monotonic)
    turns.keep("a", LocalTurn(started, started + 0.6, 3000))
    await drain(lifecycle, ShedStage(1, CallerLimits(None), time.monotonic), turns, budget_seconds=30)
    assert lifecycle.draining
    assert 0.6 <= time.monotonic() - started < 30
