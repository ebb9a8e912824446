"""The judged sets on a standby catalogue: packed into a bundle as the seed does, and loaded as a server does."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from server.standby.bundle import FULL, NAMES
from tests.quality.measure import Measured, measure
from tests.quality.sets import JudgedSet
from tests.support.standby import bundle_of, open_standby_bundle
from tools.store.backends.embedding import LocalEmbedder
from tools.store.records.catalog_file import load

STANDBYS = {"standby-full": FULL, "standby-names": NAMES}


async def run_on_standby(judged: JudgedSet, kind: str) -> list[Measured]:
    async with LocalEmbedder() as embedder:
        with TemporaryDirectory() as folder:
            bundle = await bundle_of(Path(folder) / "bundle", load(judged.catalog), embedder, kind)
            async with open_standby_bundle(bundle, embedder, kind) as catalog:
                return await measure(catalog, judged.queries())
