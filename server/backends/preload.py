from __future__ import annotations

import logging
import time
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from server.backends.opening import (
    EMBEDDED,
    Progress,
    Shared,
    SharedStore,
    check_title_ids,
    default_data_dir,
    load_records,
    store_files,
    warn_of_oddities,
)
from server.config.parsing import SettingError
from server.config.settings import Settings, read_vocabulary
from tools.store.store import releases_of

if TYPE_CHECKING:
    from tools.store.backends.embedded.catalog import Loaded
    from tools.store.backends.embedding import Encoder

logger = logging.getLogger(__name__)


def preload(settings: Settings, folder: Path, progress: Progress | None) -> Shared:
    """Imports the configured backends' modules, loads the embedded ones, and writes an embedded store to a file in `folder`.
    Blocks for a second or more. Starts no thread, since threads do not survive a fork. Raises `SettingError` for an unusable
    catalogue file, and `StoreFileError` for an unusable volumes or orders file."""
    for driver in list_drivers(settings):
        import_module(driver)
    started = time.monotonic()
    try:
        catalog = _catalog(settings, progress) if settings.catalog_url == EMBEDDED else None
        store = _store(settings, catalog, folder) if settings.store_url == EMBEDDED else None
    except ValueError as error:
        if type(error).__name__ != "CatalogFileError":
            raise
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    if catalog is not None:
        logger.info("%d titles ready in %.1f s", len(catalog.columns), time.monotonic() - started)
        warn_of_oddities(settings, list(zip(catalog.columns.titles, catalog.columns.offers, strict=True)))
    return Shared(catalog, _encoder(settings), store)


def _catalog(settings: Settings, progress: Progress | None) -> Loaded:
    from tools.store.backends.embedded.catalog import load_catalog, plan_vectors
    from tools.store.backends.embedded.computed import ComputedStore

    computed = ComputedStore(settings.data_dir or default_data_dir())
    loaded = load_catalog(settings.catalog_file, computed, progress, read_vocabulary(settings), settings.currency)
    return replace(loaded, plan=plan_vectors(loaded.columns.titles)) if settings.embedder != "none" else loaded


def _store(settings: Settings, catalog: Loaded | None, folder: Path) -> SharedStore:
    from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases, EmbeddedStore, EmbeddedTitles, write_store

    if catalog is None:
        titles, offers = zip(*load_records(settings), strict=True)
    else:
        titles, offers = tuple(catalog.columns.titles), tuple(catalog.columns.offers)
    check_title_ids(settings, titles)
    file = folder / "store.db"
    write_store(file, zip((each.title_id for each in titles), offers, strict=True), *store_files(settings))
    with closing(EmbeddedStore.of_file(file)) as store:
        releases = EmbeddedReleases(releases_of(titles, store.dated_volumes()))
    return SharedStore(EmbeddedTitles(titles), releases, file, folder / "people.db")


def _encoder(settings: Settings) -> Encoder | None:
    if settings.embedder != "local":
        return None
    from tools.store.backends.embedding import load_encoder

    try:
        return load_encoder()
    except (ImportError, OSError, ValueError):  # each worker fails likewise, and searches match words only
        return None


def list_drivers(settings: Settings) -> list[str]:
    """Returns the module names of the configured backends. With their libraries they take tens of megabytes, which workers
    share if the supervisor has imported them."""
    backends = "tools.store.backends"
    wanted = {
        f"{backends}.opensearch.catalog": settings.catalog_url != EMBEDDED,
        f"{backends}.dynamodb.store": settings.store_url != EMBEDDED,
        f"{backends}.embedded.catalog": settings.catalog_url == EMBEDDED,
        f"{backends}.embedded.stock_and_orders": settings.store_url == EMBEDDED,
        f"{backends}.embedded.customers": settings.store_url == EMBEDDED,
        f"{backends}.bedrock": settings.embedder.startswith("bedrock:"),
        "session.redis.cluster": "+cluster:" in settings.redis_url,
        "session.redis.multiplexed": True,
    }
    return [driver for driver, needed in wanted.items() if needed]
