"""Background tasks whose failure is logged, periodic work, and bounded waiting, also for work on threads."""

from __future__ import annotations

import asyncio
import errno
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from threading import Thread
from typing import Any, NoReturn, TypeVar

logger = logging.getLogger(__name__)
T = TypeVar("T")


def start_task(work: Coroutine[Any, Any, T], name: str, context: Context | None = None) -> asyncio.Task[T]:
    """Starts `work` in `context` (default: a copy of the caller's) and returns its task. Logs the exception if the task
    fails. The caller must keep and cancel the task."""
    task = asyncio.create_task(work, name=name, context=context)
    task.add_done_callback(_tell)
    return task


async def end_task(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancels the tasks, all at once, and waits until they have ended, whatever their outcome. None is no task."""
    if running := [each for each in tasks if each is not None]:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def wait_for(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, at most `seconds`. Returns whether it is set; raises no TimeoutError."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, T]], name: str | None = None) -> list[T]:
    """Runs the coroutines side by side, in tasks of this name, and returns their results in order. If one fails, or the
    caller is cancelled, cancels the others, waits until they end, and raises the error."""
    tasks = [asyncio.create_task(each, name=name) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await end_task(*tasks)


class Tasks(set[asyncio.Task[Any]]):
    """Set of running background tasks; a task leaves the set when it ends."""

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = start_task(work, name)
        self.add(task)
        task.add_done_callback(self.discard)

    async def aclose(self, seconds: float) -> None:
        """Waits up to `seconds` for the tasks, then cancels those that still run and waits until they end."""
        if self:
            await asyncio.wait(self, timeout=seconds)
        await end_task(*self)


def _tell(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the task %r has died", task.get_name(), exc_info=error)


JITTER = 0.1
AFTER_ERROR_SECONDS = 30.0


async def run_periodically(name: str, work: Callable[[], Awaitable[float]]) -> NoReturn:
    """Calls `work` until cancelled. `work` returns the seconds until its next call, to which ±10 % jitter is added to spread
    several processes. An exception is logged, and the next call follows after `AFTER_ERROR_SECONDS`."""
    while True:
        try:
            pause = await work()
        except Exception:
            logger.exception("%s: this round failed", name)
            pause = AFTER_ERROR_SECONDS
        await asyncio.sleep(pause * random.uniform(1 - JITTER, 1 + JITTER))


def run_on_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Runs a function on a daemon thread. Python's exit does not wait for it, unlike for executors' threads."""
    promised: Future[T] = Future()

    def run() -> None:
        if not promised.set_running_or_notify_cancel():
            return
        try:
            promised.set_result(work())
        except BaseException as error:  # passed to the caller, as executors do
            promised.set_exception(error)

    Thread(target=run, daemon=True, name=name).start()
    return promised


class Threads:
    """Runs blocking work that may never return, such as reads from a network disk that hangs.

    The threads are daemons, since at exit a process waits for all other threads, those of executors included. At most `most`
    run at once: a hanging thread keeps its slot, and work that gets no slot in time is not started."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._places = asyncio.Semaphore(most)

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """Runs `work` on a thread. Raises TimeoutError after `seconds`, OSError if no thread can be started, and the work's
        own errors. A result after the timeout is dropped."""
        loop = asyncio.get_running_loop()

        def release_place(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._places.release)

        async with asyncio.timeout(seconds):
            await self._places.acquire()
            try:
                running = run_on_thread(work, self._name)
            except RuntimeError as error:
                self._places.release()
                raise OSError(errno.EAGAIN, "no thread can be started") from error
            running.add_done_callback(release_place)
            return await asyncio.wrap_future(running)
