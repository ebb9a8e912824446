"""Background tasks: one that dies is reported and restarted."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

import pytest

from server.runtime.lifecycle import LONGEST_PAUSE_SECONDS, Background
from session.resilience.deadline import Deadline
from tests.support.valkey import eventually


class Pauses:
    """Pauses that end when a test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._go = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._go.acquire()

    def end(self) -> None:
        self._go.release()


async def raises() -> None:
    raise RuntimeError("nobody foresaw it")


async def returns() -> None:
    return


async def cancels() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("work", [raises, returns, cancels])
async def test_task_that_dies_is_logged_and_restarted(work: object, caplog: pytest.LogCaptureFixture) -> None:
    """It may return, raise or be cancelled."""
    died: list[str] = []
    pauses, begun = Pauses(), []
    async with AsyncExitStack() as stack:
        background = Background(stack, died.append, pauses)

        async def once_bad() -> None:
            begun.append(1)
            if len(begun) == 1:
                await work()  # type: ignore[operator]
                return
            await asyncio.Event().wait()

        background.run("flags", once_bad)
        await eventually(lambda: pauses.asked == [1.0])
        assert died == ["flags"]
        health = await background.health(Deadline.after(1))
        assert not health.ok
        assert "flags" in (health.detail or "")
        pauses.end()
        await eventually(lambda: len(begun) == 2)
        assert (await background.health(Deadline.after(1))).ok
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "'flags'" in caplog.messages[0]


async def test_task_that_always_dies_is_restarted_with_growing_pauses() -> None:
    pauses = Pauses()
    async with AsyncExitStack() as stack:
        logging.getLogger("server.runtime.lifecycle").disabled = True
        Background(stack, lambda _: None, pauses).run("flags", raises)
        for number in range(10):
            await eventually(lambda number=number: len(pauses.asked) == number + 1)
            pauses.end()
        logging.getLogger("server.runtime.lifecycle").disabled = False
    assert pauses.asked[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(pauses.asked) == LONGEST_PAUSE_SECONDS


@pytest.mark.virtual_time
async def test_task_that_ran_for_long_is_restarted_soon() -> None:
    asked: list[float] = []
    lasting = [0.0, 0.0, 2 * LONGEST_PAUSE_SECONDS, 0.0]

    async def lasts() -> None:
        if not lasting:
            await asyncio.Event().wait()
        await asyncio.sleep(lasting.pop(0))

    async def note(seconds: float) -> None:
        asked.append(seconds)

    async with AsyncExitStack() as stack:
        Background(stack, lambda _: None, note).run("flags", lasts)
        await asyncio.sleep(3 * LONGEST_PAUSE_SECONDS)
    assert asked == [1.0, 2.0, 1.0, 2.0]


async def test_background_tasks_end_with_the_application() -> None:
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        background = Background(stack, lambda _: None)
        background.run("one", lambda: asyncio.Event().wait())  # type: ignore[arg-type,return-value]
        background.run("dead", raises)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == len(before) + 2
    assert asyncio.all_tasks() == before
