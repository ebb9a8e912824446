"""What all processes of a server would load, loaded once by the one that forks them."""

from __future__ import annotations

import logging
import time
from importlib import import_module
from typing import TYPE_CHECKING

from server.backends.catalog import default_data_dir
from server.backends.ports import EMBEDDED, Progress
from server.backends.shared import Shared
from server.config.parsing import SettingError
from server.config.settings import Settings

if TYPE_CHECKING:
    from tools.store.backends.embedded.embedder import Encoder
    from tools.store.backends.embedded.loading import Loaded

logger = logging.getLogger(__name__)


def preload(settings: Settings, progress: Progress | None) -> Shared:
    """Imports the drivers, and loads the embedded catalogue and encoder, where they are wanted. Blocking: one second and
    more. Starts no thread, which a fork would lose.

    Raises `SettingError` for a catalogue file that cannot be used."""
    for driver in _drivers(settings):
        import_module(driver)
    return Shared(_catalog(settings, progress), _encoder(settings))


def _catalog(settings: Settings, progress: Progress | None) -> Loaded | None:
    if settings.catalog_url != EMBEDDED:
        return None
    from tools.store.backends.embedded.computed import ComputedStore
    from tools.store.backends.embedded.loading import load_catalog
    from tools.store.records.catalog_file import CatalogFileError

    started = time.monotonic()
    try:
        store = ComputedStore(settings.data_dir or default_data_dir())
        loaded = load_catalog(settings.catalog_file, store, progress)
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    logger.info("%d titles ready in %.1f s", len(loaded.columns), time.monotonic() - started)
    return loaded


def _encoder(settings: Settings) -> Encoder | None:
    if settings.embedder != "local":
        return None
    from tools.store.backends.embedded.embedder import load_encoder

    try:
        return load_encoder()
    except (ImportError, OSError, ValueError):  # each worker finds that out by itself, and searches go by words
        return None


def _drivers(settings: Settings) -> list[str]:
    """Names what a worker would import when it opens its backends: tens of megabytes, the AWS libraries most of all."""
    backends = "tools.store.backends"
    wanted = {
        f"{backends}.opensearch.catalog": settings.catalog_url != EMBEDDED,
        f"{backends}.dynamodb.store": settings.store_url != EMBEDDED,
        f"{backends}.embedded.stock_and_orders": settings.store_url == EMBEDDED,
        f"{backends}.bedrock.embedder": settings.embedder.startswith("bedrock:"),
        "session.redis.cluster": "+cluster:" in settings.redis_url,
        "session.redis.multiplexed": True,
    }
    return [driver for driver, needed in wanted.items() if needed]
