"""The newest valid bundle, loaded for searching."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from server.standby.bundle import FULL, RECORDS, BrokenOffError, BundleError, Manifest, Place, UnreachableError, unpack
from session.resilience.breaker import Outage
from session.resilience.clocks import Clock
from session.resilience.tasks import run_periodically
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.computed import FORMAT
from tools.store.ports import Embedder
from tools.store.records.catalog_file import CatalogFileError


@asynccontextmanager
async def load_gently() -> AsyncIterator[None]:
    """Lets the event loop run while the block loads: threads switch ten times as often, and the garbage collector leaves the
    oldest generation alone. Afterwards loaded objects are frozen, out of the collector's reach; reference counts still free
    them."""
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    # The interpreter's switch interval while loading; with Python's 0.005 each turn of the loop would wait so long
    sys.setswitchinterval(0.0005)
    gc.set_threshold(*thresholds[:2], 2**31 - 1)
    try:
        yield
        gc.collect(1)
        gc.freeze()
    finally:
        sys.setswitchinterval(usual)
        gc.set_threshold(*thresholds)


def give_memory_back() -> None:
    """Has glibc return free memory to the system (malloc_trim(3)): some 10 MB after a replaced catalogue. Blocks without the
    interpreter lock."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


logger = logging.getLogger(__name__)
POLL_SECONDS = 30.0
RETRY_SECONDS = 5.0
"""Seconds between attempts while no bundle is loaded."""
GRACE_SECONDS = 6.0
"""Longer than any call: searches of a replaced bundle may end."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Loaded:
    """A loaded bundle and the resources to close with it."""

    manifest: Manifest
    catalog: EmbeddedCatalog
    opened: AsyncExitStack


class Replica:
    """Polls the place and loads new bundles. A bundle that cannot be fetched, is damaged or of another kind is logged once,
    and the last good one stays; a truncated one is fetched again. `embedder` embeds queries."""

    def __init__(
        self,
        place: Place,
        kind: str,
        embedder: Embedder | None,
        folder: Path | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.kind = kind
        self.current: Loaded | None = None
        self.refused = 0
        self._place, self._embedder, self._folder = place, embedder, folder
        self._seen: str | None = None
        self._refused: str | None = None
        self._why_refused: str | None = None
        self._clock, self._as_source_at = clock, clock()
        self._outage = Outage(logger, "the place of the standby catalogue")

    @property
    def problem(self) -> str | None:
        return self._outage.why or self._why_refused

    def lag(self) -> float:
        """Seconds since the replica last equalled its place, or since the start."""
        return self._clock() - self._as_source_at

    async def keep(self) -> None:
        """Runs until cancelled, then closes the bundle."""
        try:
            await run_periodically("standby catalogue", self._poll_place)
        finally:
            if self.current is not None:
                await self.current.opened.aclose()

    async def look(self) -> bool:
        """Fetches and loads a new bundle; True if there was one. Raises `UnreachableError`."""
        made = partial(TemporaryDirectory[str], prefix="standby-", dir=self._folder, ignore_cleanup_errors=True)
        scratch = await asyncio.to_thread(made)
        fetched, unpacked = Path(scratch.name) / "bundle", Path(scratch.name) / "unpacked"
        try:
            mark = await self._place.fetch(self._seen, fetched)
            if mark is None:
                return False
            self._seen = mark
            try:
                manifest = await asyncio.to_thread(unpack, fetched, unpacked)
                await self._take(await self._open_bundle(manifest, unpacked))
            except OSError:
                self._seen = None  # try again: a full disk may have room later
                raise
            except (BundleError, CatalogFileError) as error:
                self._refuse(mark, error)
                return False
        finally:
            await asyncio.to_thread(scratch.cleanup)
        return True

    def _refuse(self, mark: str, error: Exception) -> None:
        """Logs it once; fetches only a truncated bundle again."""
        if isinstance(error, BrokenOffError):
            self._seen = None
        if mark != self._refused:
            self.refused += 1
            stays = "the last good one stays" if self.current else "there is none"
            logger.warning("the standby catalogue is refused: %s; %s", error, stays)
        self._refused, self._why_refused = mark, f"the newest bundle is refused: {error}"

    async def _poll_place(self) -> float:
        try:
            await self.look()
        except (UnreachableError, OSError) as error:
            self._outage.record_failure(str(error))
        else:
            self._outage.record_recovery()
            if self.current is not None and self._refused is None:
                self._as_source_at = self._clock()
        return POLL_SECONDS if self.current is not None else RETRY_SECONDS

    async def _open_bundle(self, manifest: Manifest, folder: Path) -> Loaded:
        """Loads the bundle into memory, on threads; the files may go afterwards."""
        if manifest.kind != self.kind:
            raise BundleError(f"it holds {manifest.kind}, MANGA_STANDBY says {self.kind}")
        started, opened = time.monotonic(), AsyncExitStack()
        opening = EmbeddedCatalog.open(folder / RECORDS, self._choose_embedder(manifest), cache_dir=folder)
        async with load_gently():
            catalog = await opened.enter_async_context(opening)
        seconds = time.monotonic() - started
        logger.info("standby catalogue: %d titles (%s) loaded in %.1f s", len(catalog), manifest.kind, seconds)
        return Loaded(manifest, catalog, opened)

    def _choose_embedder(self, manifest: Manifest) -> Embedder | None:
        """The embedder, if the bundle's vectors are its own; else None, and search is by words alone."""
        mine = self._embedder.name if self._embedder is not None and self.kind == FULL else None
        if mine is None or (manifest.embedder, manifest.computed) == (mine, FORMAT):
            return self._embedder if mine is not None else None
        logger.warning(
            "the standby catalogue is searched by words alone: its vectors are not of MANGA_EMBEDDER; seed it again"
        )
        return None

    async def _take(self, loaded: Loaded) -> None:
        self._refused = self._why_refused = None
        old, self.current = self.current, loaded
        if old is None:
            return
        try:
            await asyncio.sleep(GRACE_SECONDS)
        finally:
            await old.opened.aclose()
        titles = list(old.catalog.titles)
        del old
        while titles:  # a few at a time: to free them all at once would hold the loop up
            del titles[-500:]
            await asyncio.sleep(0)
        await asyncio.to_thread(give_memory_back)
