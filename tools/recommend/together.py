"""Two things at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Runs both at the same time. If one fails, the other is stopped and the failure is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(one), group.create_task(other)
    except ExceptionGroup as failed:
        failure = failed.exceptions[0]
        raise failure from failure.__cause__
    return first.result(), second.result()
