"""When work that is done again and again comes round, by a clock that only waits."""

from __future__ import annotations

import asyncio

import pytest

from session.resilience.tasks import run_periodically
from tests.support.cases import cases


@pytest.mark.virtual_time
@cases(("fails", "pause"), [(False, 100.0), (True, 30.0)])
async def test_rounds_come_a_tenth_sooner_or_later_than_they_are_due(fails: bool, pause: float) -> None:
    """After one that failed by accident, half a minute later."""
    began: list[float] = []

    async def work() -> float:
        began.append(asyncio.get_running_loop().time())
        if len(began) > 200:
            raise asyncio.CancelledError
        if fails:
            raise LookupError("an accident")
        return pause

    with pytest.raises(asyncio.CancelledError):
        await run_periodically("work", work)
    gaps = [(after - before) / pause for before, after in zip(began, began[1:], strict=False)]
    assert 0.9 <= min(gaps) < 0.93
    assert 1.07 < max(gaps) <= 1.1 + 1e-9
