from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from server.config.parsing import SettingError

T = TypeVar("T")
logger = logging.getLogger(__name__)
POLL_SECONDS = 1.0


async def follow_file(setting: str, read: Callable[[], T], take: Callable[[T], str | None]) -> None:
    """Reads a setting's file every second and passes the content to `take`, until cancelled. `take` returns a log message if
    the content has changed, else None. While `read` raises `SettingError`, a warning is logged once and `take` is not
    called."""
    failed = False
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            content = await asyncio.to_thread(read)
        except SettingError as error:
            if not failed:
                logger.warning("%s; the last good version stays in use", error)
            failed = True
            continue
        if failed:
            logger.info("%s can be read again", setting)
        failed = False
        if change := take(content):
            logger.info("%s", change)
