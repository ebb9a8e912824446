"""The flags at the start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack

from server.config.parsing import SettingError
from server.config.settings import Settings
from server.flags.current import Flags
from server.flags.document import DocumentError
from server.flags.follower import Follower
from server.flags.sources.opening import open_source
from server.flags.sources.source import Unreadable
from tools.contract import Tool

logger = logging.getLogger(__name__)

START_SECONDS = 1.5


async def open_flags(settings: Settings, flags: Flags, tools: Iterable[Tool], stack: AsyncExitStack) -> Follower | None:
    """Fills the flags for the first time; returns who keeps them so, None where no source is set.

    A file is a setting, so one that is away or wrong stops the start: raises `SettingError`. What is elsewhere stops
    nothing: until it can be read, every tool is as it is by itself, and that is said.
    """
    if settings.flags_url is None:
        return None
    follower = Follower(await open_source(settings.flags_url, stack), flags, tools)
    if settings.flags_file():
        await _look_at_file(follower)
    else:
        await _look_elsewhere(follower)
    return follower


async def _look_at_file(follower: Follower) -> None:
    try:
        await follower.look()
    except (DocumentError, Unreadable) as error:
        raise SettingError(f"MANGA_FLAGS_URL: {error}") from None


async def _look_elsewhere(follower: Follower) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            await follower.look_and_tell()
    except TimeoutError:
        logger.warning("MANGA_FLAGS_URL does not answer yet; until it does every tool is as it is by itself")
