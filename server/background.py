"""Tasks that run beside the calls for as long as the application does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any


async def run_in_background(stack: AsyncExitStack, name: str, work: Coroutine[Any, Any, None]) -> None:
    """A task that ends with what the stack holds."""
    task = asyncio.create_task(work, name=name)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)
