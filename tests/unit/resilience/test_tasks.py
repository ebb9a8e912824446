"""A background task that died is logged even if nobody awaits it; a cancelled one is not."""

from __future__ import annotations

import asyncio

import pytest

from session.resilience.tasks import Tasks, end_task, gather_or_cancel, start_task, wait_for


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


@pytest.mark.virtual_time
async def test_event_and_tasks_are_waited_for_no_longer_than_the_seconds() -> None:
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    began = loop.time()
    assert not await wait_for(event, 2.0)
    assert loop.time() - began == 2.0
    loop.call_later(1.0, event.set)
    assert await wait_for(event, 2.0)
    assert loop.time() - began == 3.0
    tasks, ended = Tasks(), list[str]()

    async def works(seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            ended.append("well")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    for seconds in (1.0, 3.0):
        tasks.start(works(seconds), "it")
    assert len(tasks) == 2
    for _ in range(2):
        await tasks.aclose(2.0)
        assert (ended, len(tasks), loop.time() - began) == (["well", "cancelled"], 0, 5.0)
    own = asyncio.create_task(asyncio.sleep(60))
    await end_task(own)
    await end_task(None)
    assert own.cancelled()


async def test_work_side_by_side_is_cancelled_where_one_of_it_fails() -> None:
    assert await gather_or_cancel([asyncio.sleep(0, "a"), asyncio.sleep(0, "b")]) == ["a", "b"]
    ends: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ends.append("cancelled")

    async def fails() -> None:
        raise LookupError("why")

    with pytest.raises(LookupError, match="why"):
        await gather_or_cancel([waits(), fails()])
    assert ends == ["cancelled"]
