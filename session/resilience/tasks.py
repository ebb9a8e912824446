"""Tasks whose owners wait for them at the end, if at all: one that dies before says so."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

logger = logging.getLogger(__name__)
T = TypeVar("T")


def start_task(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """A task that is logged when it ends by an exception. To cancel it is the owner's part."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_tell)
    return task


def _tell(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the task %r has died", task.get_name(), exc_info=error)


JITTER = 0.1
AFTER_AN_ACCIDENT_SECONDS = 30.0


async def run_periodically(name: str, work: Callable[[], Awaitable[float]]) -> NoReturn:
    """Runs until cancelled. Each round says after how many seconds the next one is due; many processes that began
    together do not stay together. What nobody foresaw costs one round, and is logged."""
    while True:
        try:
            pause = await work()
        except Exception:
            logger.exception("%s: this round failed", name)
            pause = AFTER_AN_ACCIDENT_SECONDS
        await asyncio.sleep(pause * random.uniform(1 - JITTER, 1 + JITTER))
