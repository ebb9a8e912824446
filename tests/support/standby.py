"""Bundles of a standby catalogue, made as the seed makes them, and one that is open already."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.seed.loads import Done
from infra.seed.standby import BundleTarget, StandbyLoad
from server.standby.bundle import FULL, LONGEST_LINE, BundleStore, FileStore, Manifest
from server.standby.replica import Loaded, Replica
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.ports import Embedder
from tools.store.records.catalog_file import Record

MADE = 1_790_000_000


@dataclass
class Opened:
    """In the place of a replica."""

    current: Loaded | None = None
    kind: str = FULL
    refused: int = 0
    problem: str | None = None


def opened(catalog: Any) -> Opened:
    """A replica over a catalogue that is there already."""
    manifest = Manifest(FULL, 6, MADE, "0" * 64, "2", None, 1, "1" * 64)
    return Opened(Loaded(manifest, catalog, AsyncExitStack()))


async def seeded(place: BundleStore, records: Sequence[Record], embedder: Embedder | None, kind: str = FULL) -> Done:
    """Puts a bundle there, as `python -m infra.seed --standby` does."""
    load, done = StandbyLoad(BundleTarget(kind, "file:///nowhere"), records, embedder, place, None), Done()
    await load.look()
    await load.carry_out(done, dry_run=False)
    return done


async def bundle_of(path: Path, records: Sequence[Record], embedder: Embedder | None = None, kind: str = FULL) -> Path:
    await seeded(FileStore(path), records, embedder, kind)
    return path


@asynccontextmanager
async def open_standby_bundle(path: Path, embedder: Embedder | None, kind: str = FULL) -> AsyncIterator[EmbeddedCatalog]:
    """As a server opens it, and warm."""
    replica = Replica(FileStore(path), kind, embedder)
    assert await replica.look()
    assert replica.current is not None
    try:
        assert await replica.current.catalog.wait_for_vectors()
        yield replica.current.catalog
    finally:
        await replica.current.opened.aclose()


def read_manifest(path: Path) -> Manifest:
    """That of a bundle."""
    with path.open("rb") as bundle:
        return Manifest.read(bundle.readline(LONGEST_LINE))
