"""The last moment of a server that stops: what it has taken is still answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

LAST_SECONDS = 0.3
"""A cached call takes a hundredth of it. All of it is within what a process has from the end of its turns to its own."""
LOOK_SECONDS = 0.01


async def settled(busy: Callable[[], bool]) -> None:
    """Waits until nothing is under way any more, for that moment at most. Its caller takes nothing new from before on."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            while busy():  # noqa: ASYNC110 - of many streams, each with a count of its own
                await asyncio.sleep(LOOK_SECONDS)
