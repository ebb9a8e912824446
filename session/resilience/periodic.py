"""Work that is done again and again beside the calls."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn

logger = logging.getLogger(__name__)

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
