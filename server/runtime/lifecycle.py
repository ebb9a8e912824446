"""The process's lifecycle: background tasks, signals, readiness, and draining without losing an answer."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from session.resilience.deadline import Deadline
from session.resilience.tasks import end_task
from session.turn import Turns
from tools.store.models import Health

if TYPE_CHECKING:
    from server.stages.admission import ShedStage

logger = logging.getLogger(__name__)
LONGEST_PAUSE_SECONDS = 60.0
Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(eq=False)
class Background:
    """Runs background tasks. A task that ends is restarted after a pause of 1, 2, 4 … 60 seconds. The pauses begin at 1
    again after a task has run for over 60 seconds. `died` is called with the task's name, and the reason is logged. The
    tasks are cancelled when `stack` closes."""

    stack: AsyncExitStack
    died: Callable[[str], None]
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
    _resting: set[str] = field(default_factory=set)

    def run(self, name: str, work: Work) -> None:
        """Starts `work`, which should run until cancelled. If it returns or raises, it is restarted."""
        self.stack.push_async_callback(end_task, asyncio.create_task(self._keep_up(name, work), name=name))

    async def health(self, deadline: Deadline) -> Health:
        resting = ", ".join(sorted(self._resting))
        return Health(not resting, f"to be begun again: {resting}" if resting else "")

    async def _keep_up(self, name: str, work: Work) -> None:
        now, pause = asyncio.get_running_loop().time, 1.0
        while True:
            began = now()
            await self._run_once(name, work)
            if now() - began > LONGEST_PAUSE_SECONDS:
                pause = 1.0
            self.died(name)
            self._resting.add(name)
            await self.sleep(pause)
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


TOGETHER_SECONDS = 1.0
"""A second signal within this many seconds is ignored: `make` repeats a signal that the process has already received."""

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})
"""Signals that by default end the process at once, without answering open calls."""
GRACE_SECONDS = 0.2
"""Seconds after the last call's end in which a request that is under way may still arrive."""


def list_ending_signals() -> list[signal.Signals]:
    """Returns SIGINT, and the other signals in `ENDING` unless the process ignores them, as it does SIGHUP under nohup."""
    return [each for each in ENDING if each == signal.SIGINT or signal.getsignal(each) is not signal.SIG_IGN]


def stop_on_signals(stop: asyncio.Event) -> None:
    """Sets `stop` at the first signal. A signal more than `TOGETHER_SECONDS` later exits at once, with status 1."""
    loop = asyncio.get_running_loop()
    first = 0.0

    def handle() -> None:
        nonlocal first
        if not stop.is_set():
            first = loop.time()
            stop.set()
        elif loop.time() - first > TOGETHER_SECONDS:
            os._exit(1)

    for each in list_ending_signals():
        loop.add_signal_handler(each, handle)


async def wait_for_either(work: asyncio.Task[Any], stop: asyncio.Event) -> None:
    """Waits until `stop` is set or `work` ends. Does not raise the error of `work`."""
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    await end_task(stopped)


@dataclass(slots=True)
class Lifecycle:
    """The state of the process: `draining` once `drain` has begun. The process is ready (`serves`) if `flags_known` returns
    True and it is not draining. While the flags are unknown, every tool is off."""

    draining: bool = False
    flags_known: Callable[[], bool] = lambda: True

    @property
    def serves(self) -> bool:
        return self.flags_known() and not self.draining


async def drain(lifecycle: Lifecycle, shed: ShedStage, turns: Turns, budget_seconds: float) -> None:
    """Sets `draining`, and keeps serving until all turns have ended and no call is running, for at most `budget_seconds`."""
    lifecycle.draining = True
    with anyio.move_on_after(budget_seconds):  # turns are promised one budget; the connections are closed then
        while (left := turns.latest_end() - time.monotonic()) > 0 or shed.under_way:
            if shed.under_way:
                await shed.idle.wait()
            else:
                await asyncio.sleep(min(left, GRACE_SECONDS))
        await asyncio.sleep(GRACE_SECONDS)
        await shed.idle.wait()
