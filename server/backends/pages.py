"""The first pages of volumes: the demo's, in a directory, or in S3."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends.ports import EMBEDDED
from server.config.settings import Settings
from server.config.urls import file_of
from tools.store.ports import PagesPort


async def open_pages(settings: Settings, stack: AsyncExitStack) -> PagesPort:
    if settings.pages_url == EMBEDDED:
        from tools.store.backends.pages.directory import DemoPages

        return await stack.enter_async_context(DemoPages.open())
    if folder := file_of(settings.pages_url):
        from tools.store.backends.pages.directory import DirectoryPages

        return await stack.enter_async_context(DirectoryPages.open(folder))
    from tools.store.backends.pages.s3.address import S3Address
    from tools.store.backends.pages.s3.pages import S3Pages

    return await stack.enter_async_context(S3Pages.open(S3Address.parse(settings.pages_url)))
