"""The second attempts that are measured are such: late, within their budget, and the one that lost is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from tests.load.hedging import ENOUGH, Hedge

SECONDS = 30.0


class Backend:
    """Hangs for the first attempt of every read, where `hangs`."""

    def __init__(self) -> None:
        self.hangs = False
        self.asked = self.cancelled = 0

    async def read(self) -> None:
        self.asked += 1
        if self.hangs and self.asked % 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise


async def _after_enough(share: float) -> tuple[Backend, Hedge]:
    backend = Backend()
    hedge = Hedge(backend.read, share)
    for _ in range(ENOUGH):
        await hedge.ask()
    backend.asked, backend.hangs = 0, True
    return backend, hedge


async def test_a_late_read_is_asked_once_more_and_the_first_is_cancelled() -> None:
    backend, hedge = await _after_enough(share=0.05)
    async with asyncio.timeout(SECONDS):
        await hedge.ask()
    assert (backend.asked, backend.cancelled) == (2, 1)


async def test_the_budget_is_kept() -> None:
    """Forty reads earn two further requests at 5 %; the third late read has to wait for its own."""
    _, hedge = await _after_enough(share=0.05)
    async with asyncio.timeout(SECONDS):
        await hedge.ask()
        await hedge.ask()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await hedge.ask()
    assert hedge.requests == ENOUGH + 2 + 2 + 1
