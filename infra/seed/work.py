"""Runs all loads: first they all plan, then tables, index and standby catalogue are written in this order. So a foreseeable
problem does not stop a load half way, and a title that can be found has its stock."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from infra.seed.contents import Contents
from infra.seed.loads import Done, IndexLoad, Progress, TableLoad
from infra.seed.standby import BundleTarget, StandbyLoad
from server.backends.opening import EMBEDDED, open_embedder
from server.config.settings import Settings


def wanted(settings: Settings, standby: BundleTarget | None = None) -> bool:
    """Returns whether there is anything to load. Embedded backends read files at every start instead."""
    return settings.catalog_url != EMBEDDED or settings.store_url != EMBEDDED or standby is not None


async def seed(
    settings: Settings, contents: Contents, *, dry_run: bool, progress: Progress | None, standby: BundleTarget | None = None
) -> Done:
    """Loads everything, or with `dry_run` changes nothing; returns the report. `standby`: the bundle to publish, None for
    none. Raises SeedError."""
    done = Done()
    async with AsyncExitStack() as stack:
        tables = TableLoad(settings.store_url, contents, progress, stack) if settings.store_url != EMBEDDED else None
        embedder = await open_embedder(settings, stack) if wanted(replace(settings, store_url=EMBEDDED), standby) else None
        index = None
        if settings.catalog_url != EMBEDDED:
            index = IndexLoad(settings, contents, embedder, progress, stack)
        second = None
        if standby is not None:
            second = await StandbyLoad.open(standby, settings, contents.records, embedder, progress, stack)
        for each in (tables, index, second):
            if each is not None:
                await each.look()
        for each in (tables, index, second):
            if each is not None:
                await each.carry_out(done, dry_run)
    if index is None:
        done.lines.append("catalogue  embedded: it is read from MANGA_CATALOG_FILE at every start, nothing to seed")
    if tables is None:
        done.lines.append("store      embedded: it is filled from files at every start, nothing to seed")
    return done
