"""When the rounds of a periodic task come, by virtual time."""

from __future__ import annotations

import asyncio

import pytest

from session.resilience.tasks import run_periodically
from tests.support.cases import cases


@pytest.mark.virtual_time
@cases(("fails", "pause"), [(False, 100.0), (True, 30.0)])
async def test_rounds_are_jittered_by_a_tenth(fails: bool, pause: float) -> None:
    """A round that failed by an unexpected error is followed by one after half a minute."""
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
