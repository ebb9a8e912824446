"""A background task that died is logged even if nobody awaits it; a cancelled one is not."""

from __future__ import annotations

import asyncio

import pytest

from session.resilience.tasks import start_task


async def test_task_that_dies_is_logged_with_its_name_and_error(caplog: pytest.LogCaptureFixture) -> None:
    async def dies() -> None:
        raise LookupError("why")

    task = start_task(dies(), "the one")
    await asyncio.wait({task})
    await asyncio.sleep(0)
    (record,) = caplog.records
    assert record.getMessage() == "the task 'the one' has died"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


async def test_task_that_ends_or_is_cancelled_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    ended, cancelled = start_task(asyncio.sleep(0, "well"), "ended"), start_task(asyncio.sleep(60), "cancelled")
    await asyncio.wait({ended})
    cancelled.cancel()
    await asyncio.wait({cancelled})
    await asyncio.sleep(0)
    assert (ended.result(), ended.get_name()) == ("well", "ended")
    assert (caplog.records, errors) == ([], [])
