"""Which source the setting names."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.config.flags_url import FlagsItem
from server.config.urls import file_of
from server.flags.sources.file import FileSource
from server.flags.sources.source import Source


async def open_source(url: str, stack: AsyncExitStack) -> Source:
    """Opens it until the stack ends. Asks nobody yet."""
    if path := file_of(url):
        return FileSource(path)
    if url.startswith("dynamodb:"):
        from server.flags.sources.dynamodb import DynamoSource

        return await stack.enter_async_context(DynamoSource.open(FlagsItem.parse(url)))
    from server.flags.sources.http import HttpSource

    return await stack.enter_async_context(HttpSource.open(url))
