"""Tasks whose owners wait for them at the end, if at all: one that dies before says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

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
