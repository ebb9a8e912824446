"""The catalogue: in this process, or in OpenSearch."""

from __future__ import annotations

import logging
import os
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from server.backends.ports import CONNECT_SECONDS, EMBEDDED, Progress
from server.backends.shared import Shared
from server.config.parsing import SettingError
from server.config.policies_file import read_vocabulary
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from tools.store.failures import Failure
from tools.store.ports import CatalogPort, Embedder

if TYPE_CHECKING:
    from tools.store.backends.embedded.catalog import EmbeddedCatalog

logger = logging.getLogger(__name__)

WARM_UP_SECONDS = 4.0
GREETING_SECONDS = 0.5
"""What a first client gets before the encoder is loaded."""


async def open_catalog(
    settings: Settings, stack: AsyncExitStack, embedder: Embedder | None, progress: Progress | None, shared: Shared
) -> CatalogPort:
    if settings.catalog_url == EMBEDDED:
        return await _open_embedded_catalog(settings, stack, embedder, progress, shared)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.catalog import OpenSearchCatalog

    if embedder is not None:
        await _warm_up(embedder, WARM_UP_SECONDS if settings.embedder == "local" else CONNECT_SECONDS)
    try:
        opening = OpenSearchCatalog.open(OpenSearchAddress.parse(settings.catalog_url), embedder, read_vocabulary(settings))
        return await stack.enter_async_context(opening)
    except (ValueError, OSError) as error:  # a certificate's file, or AWS credentials that are not there
        raise SettingError(f"MANGA_CATALOG_URL: {error}") from None


async def _warm_up(embedder: Embedder, seconds: float) -> None:
    """Asks for a first vector, which takes seconds (the encoder is loaded, or a connection made) that no customer's
    search has."""
    with suppress(Failure):  # searches go by words alone then, and say so
        await embedder.embed(["漫画"], Deadline.after(seconds))


async def _open_embedded_catalog(
    settings: Settings, stack: AsyncExitStack, embedder: Embedder | None, progress: Progress | None, shared: Shared
) -> EmbeddedCatalog:
    from tools.store.backends.embedded.catalog import EmbeddedCatalog
    from tools.store.records.catalog_file import CatalogFileError

    started = time.monotonic()
    cache_dir = settings.data_dir or default_data_dir()
    opening = EmbeddedCatalog.open(
        settings.catalog_file,
        embedder,
        cache_dir=cache_dir,
        progress=progress,
        head_start=GREETING_SECONDS if shared.catalog is None else 0.0,
        loaded=shared.catalog,
        vocabulary=read_vocabulary(settings),
    )
    try:
        catalog = await stack.enter_async_context(opening)
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    if shared.catalog is None:
        logger.info("%d titles ready in %.1f s", len(catalog), time.monotonic() - started)
    return catalog


def default_data_dir() -> Path:
    """Returns the user's cache folder, by the XDG Base Directory Specification."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "manga-tools"
