"""How the backends in this process are asked: each is tried as the server would open it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from server.backends.store import store_files
from server.commands.doctor.check import Check, once
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis, Problem


def redis_check(stack: AsyncExitStack) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from session.failures import MemoryUnavailable
        from session.redis.diagnosis import told_by
        from session.redis.embedded import embedded_redis

        try:
            return await told_by(await stack.enter_async_context(embedded_redis()), deadline)
        except MemoryUnavailable as failure:
            return Diagnosis.of(Problem(str(failure), "set MANGA_REDIS_URL to a Redis of your own"))

    return check


def catalog_check(settings: Settings) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from tools.store.records.catalog_file import CatalogFileError, load

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
        except CatalogFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        return Diagnosis(OK, f"{len(records):,} titles in this process")

    return check


def store_check(settings: Settings) -> Check:
    """Asks titles, stock, releases and orders together: they are filled in one go."""

    async def opened(deadline: Deadline) -> Diagnosis:
        from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
        from tools.store.records.catalog_file import CatalogFileError, load
        from tools.store.records.store_files import StoreFileError

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
            offers = [(title.title_id, sold) for title, sold in records]
            async with EmbeddedStore.open(offers, *store_files(settings)) as store:
                health = await store.health(deadline)
        except (CatalogFileError, StoreFileError) as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        if not health.ok:
            return Diagnosis.of(Problem(health.detail, "correct the files it is filled from"))
        return Diagnosis(OK, "in this process, from files")

    return once(opened)
