"""The flags at the start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack

from server.config.settings import Settings
from server.flags.current import Flags
from server.flags.follower import Follower, LastGood
from server.flags.sources.opening import open_source
from session.redis.keyvalue import KeyValue
from tools.contract import Tool

logger = logging.getLogger(__name__)

START_SECONDS = 1.5


async def open_flags(
    settings: Settings, flags: Flags, tools: Iterable[Tool], redis: KeyValue, stack: AsyncExitStack
) -> Follower | None:
    """Fills the flags for the first time; returns who keeps them so, None where no source is set.

    A source that is away or wrong stops nothing: the flags are then the last good ones of the fleet, and where there are
    none they are not known, so that no tool is on that somebody has switched off.
    """
    if settings.flags_url is None:
        return None
    flags.known = False
    source = await open_source(settings.flags_url, stack)
    follower = Follower(source, flags, tools, last_good=LastGood(redis, settings.flags_url))
    try:
        async with asyncio.timeout(START_SECONDS):
            await follower.look_and_tell()
    except TimeoutError:
        logger.warning("MANGA_FLAGS_URL does not answer yet")
    await follower.take_last_good()
    if not flags.known:
        logger.warning("no flags document is known: no call is taken until MANGA_FLAGS_URL has a good one")
    return follower
