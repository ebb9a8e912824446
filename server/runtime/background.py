"""Background tasks that are restarted when they die."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack
from threading import Thread
from typing import Any, TypeVar

from session.resilience.deadline import Deadline
from tools.store.models import Health

T = TypeVar("T")


def run_on_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Runs a function on a daemon thread: at its end Python waits for executors' threads, not for this one."""
    promised: Future[T] = Future()

    def run() -> None:
        if not promised.set_running_or_notify_cancel():
            return
        try:
            promised.set_result(work())
        except BaseException as error:  # handed to the caller, as executors do
            promised.set_exception(error)

    Thread(target=run, daemon=True, name=name).start()
    return promised


logger = logging.getLogger(__name__)
LONGEST_PAUSE_SECONDS = 60.0
Work = Callable[[], Coroutine[Any, Any, None]]
Sleep = Callable[[float], Coroutine[Any, Any, None]]


class Background:
    """Restarts tasks that die, after 1, 2, 4 … 60 seconds. `died` receives the name; the log has the reason. The tasks end
    with the stack."""

    def __init__(self, stack: AsyncExitStack, died: Callable[[str], None], sleep: Sleep = asyncio.sleep) -> None:
        self._stack = stack
        self._died = died
        self._sleep = sleep
        self._resting: set[str] = set()

    def run(self, name: str, work: Work) -> None:
        """Starts `work`, which runs until cancelled; to return is to die."""
        task = asyncio.create_task(self._keep_up(name, work), name=name)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._stack.push_async_callback(end)

    async def health(self, deadline: Deadline) -> Health:
        """Unhealthy while a task waits to be restarted."""
        resting = ", ".join(sorted(self._resting))
        return Health(not resting, f"to be begun again: {resting}" if resting else "")

    async def _keep_up(self, name: str, work: Work) -> None:
        pause = 1.0
        while True:
            await self._run_once(name, work)
            self._died(name)
            self._resting.add(name)
            await self._sleep(pause)
            self._resting.discard(name)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _run_once(self, name: str, work: Work) -> None:
        try:
            await work()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            logger.exception("the background task %r was cancelled from inside; it is begun again", name)
        except Exception:
            logger.exception("the background task %r has died; it is begun again", name)
        else:
            logger.error("the background task %r has ended, which it never should; it is begun again", name)
