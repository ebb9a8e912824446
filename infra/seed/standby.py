"""Makes and publishes the standby catalogue, from which servers answer while search is down: the catalogue file, and the
arrays that the embedded catalogue computes from it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.seed.loads import Done, Progress, SeedError
from server.backends.opening import EMBEDDED, open_redis
from server.config.parsing import IN_REDIS, parse_setting, standby_url
from server.config.settings import Settings
from server.standby.bundle import FULL, NAMES, RECORDS, BundleError, BundleStore, Manifest, UnreachableError, pack
from server.standby.opening import open_place
from session.resilience.diagnosis import Problem
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.computed import FORMAT
from tools.store.ports import Embedder
from tools.store.records.catalog_file import Record, record_of

NO_VECTORS = Problem("its vectors could not be computed", "run: python -m server doctor")


@dataclass(frozen=True, slots=True)
class BundleTarget:
    """Kind of bundle to make ("names" or "full"), and the URL to publish it at, as in MANGA_STANDBY_URL."""

    kind: str
    url: str

    @classmethod
    def of(cls, place: str | None, kind: str | None, settings: Settings) -> BundleTarget | None:
        """Returns the target that the command line names, else the settings'; None if neither does. `place`: a URL, a file's
        path, or `redis`. Raises SettingError."""
        url = settings.standby_url if place is None else parse_setting("--standby", place, _url)
        own = settings.standby if settings.standby != "off" else FULL
        return None if url is None else cls(kind or own, url)


def _url(place: str) -> str:
    if place == IN_REDIS.rstrip(":"):
        return IN_REDIS
    return standby_url(place if ":" in place else Path(place).absolute().as_uri())


class StandbyLoad:
    """Makes and publishes one bundle, unless the published bundle has the same content."""

    def __init__(
        self,
        wanted: BundleTarget,
        records: Sequence[Record],
        embedder: Embedder | None,
        place: BundleStore,
        progress: Progress | None,
    ) -> None:
        self._wanted, self._place, self._progress = wanted, place, progress
        self._embedder = embedder if wanted.kind == FULL else None
        self._content = content_of(records, wanted.kind)
        self._manifest = Manifest(
            kind=wanted.kind,
            titles=len(records),
            made=int(time.time()),
            catalog=sha256(self._content).hexdigest(),
            computed=FORMAT,
            embedder=self._embedder.name if self._embedder else None,
            size=0,
            digest="",
        )
        self._there = False

    @classmethod
    async def open(
        cls,
        wanted: BundleTarget,
        settings: Settings,
        records: Sequence[Record],
        embedder: Embedder | None,
        progress: Progress | None,
        stack: AsyncExitStack,
    ) -> StandbyLoad:
        if wanted.url == IN_REDIS and settings.redis_url == EMBEDDED:
            raise SeedError("standby redis:", Problem("MANGA_REDIS_URL names no Redis that servers share", "set it"))
        redis = await open_redis(settings, stack) if wanted.url == IN_REDIS else None
        return cls(wanted, records, embedder, open_place(wanted.url, redis, stack), progress)

    async def look(self) -> None:
        """Notes whether the published bundle has the same content, for `carry_out`. Raises SeedError if the destination does
        not answer."""
        try:
            head = await self._place.head()
        except UnreachableError as error:
            raise self._error(error) from error
        try:
            self._there = bool(head) and Manifest.read(head.partition(b"\n")[0]).same_as(self._manifest)
        except BundleError:  # not a valid bundle: it is replaced
            self._there = False

    async def carry_out(self, done: Done, dry_run: bool) -> None:
        """Makes and publishes the bundle, unless `look` found it published or this is a dry run; adds a report to `done`.
        Raises SeedError."""
        started, manifest = time.monotonic(), self._manifest
        if not self._there and not dry_run:
            manifest = await self._made()
        done.lines.append(f"standby    {self._wanted.url.partition('?')[0]}, {time.monotonic() - started:.1f} s")
        what = f"{manifest.titles:,} titles ({manifest.kind})"
        size = f", {manifest.size / 1e6:.1f} MB" if manifest.size else ""
        becomes = f"{'would be ' if dry_run else ''}put there{size}"
        done.lines.append(f"           {what} {'are there already' if self._there else becomes}")
        done.nothing_to_do &= self._there

    async def _made(self) -> Manifest:
        with TemporaryDirectory(prefix="standby-") as made:
            folder, bundle = Path(made) / "content", Path(made) / "bundle"
            await asyncio.to_thread(_write, folder, self._content)
            await self._compute(folder)
            manifest = await asyncio.to_thread(pack, folder, self._manifest, bundle)
            try:
                await self._place.publish(bundle)
            except UnreachableError as error:
                raise self._error(error) from error
        return manifest

    async def _compute(self, folder: Path) -> None:
        """Writes the arrays of the embedded catalogue beside the records. Raises SeedError if the vectors fail."""
        opening = EmbeddedCatalog.open(folder / RECORDS, self._embedder, cache_dir=folder, progress=self._progress)
        async with opening as catalog:
            if not await catalog.wait_for_vectors():
                raise SeedError(f"standby {self._wanted.kind}", NO_VECTORS)

    def _error(self, error: UnreachableError) -> SeedError:
        return SeedError("standby", Problem(str(error), "check the place, and whether it may be written"))


def content_of(records: Sequence[Record], kind: str) -> bytes:
    """Returns the catalogue file of a bundle, in JSON lines. The kind `names` has no synopses, but every field that a search
    filters by."""
    kept = ((replace(t, synopsis_en=None, synopsis_ja=None) if kind == NAMES else t, offers) for t, offers in records)
    lines = (json.dumps(record_of(title, offers), ensure_ascii=False, separators=(",", ":")) for title, offers in kept)
    return "".join(f"{line}\n" for line in lines).encode()


def _write(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / RECORDS).write_bytes(content)
