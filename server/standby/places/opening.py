"""The place that MANGA_STANDBY_URL names."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.config.urls import file_of
from server.standby.places.place import Place
from session.redis.keyvalue import KeyValue
from tools.store.backends.pages.s3.address import S3Address


async def open_place(url: str, redis: KeyValue | None, stack: AsyncExitStack) -> Place:
    """Opens it until the stack ends; it need not answer yet. Raises ValueError for a wrong address."""
    if file := file_of(url):
        from server.standby.places.file import FilePlace

        return FilePlace(file)
    if url.startswith("s3:"):
        from server.standby.places.s3 import S3Place

        return await stack.enter_async_context(S3Place.open(S3Address.parse(url)))
    from server.standby.places.redis import RedisPlace

    assert redis is not None  # who may be sent there has one
    return RedisPlace(redis)
