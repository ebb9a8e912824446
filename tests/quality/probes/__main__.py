"""`python -m tests.quality.probes`: figures of the open and the locked probes as Markdown tables on stdout.

`--catalog` takes any catalogue file; without it the evaluation set's is used where it is there, else the demo one.
`--worst` prints so many of the worst open probes; locked ones are never printed.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.quality.measure import Judged, Measured, measure, table
from tests.quality.probes.authors import author_probes
from tests.quality.probes.names import name_probes
from tests.quality.probes.records import read, without_hidden, write
from tests.quality.probes.themes import plot_probes, tag_probes
from tests.quality.sets import demo_set, evaluation_set
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import LocalEmbedder


async def run(path: Path, folder: Path) -> list[Measured]:
    """Searches the catalogue without its hidden names, with vectors."""
    records = read(path)
    probes: list[Judged] = [*author_probes(records), *name_probes(records), *tag_probes(records), *plot_probes(records)]
    lacking = write([without_hidden(record) for record in records], folder)
    async with LocalEmbedder() as embedder, EmbeddedCatalog.open(lacking, embedder, cache_dir=folder) as catalog:
        await catalog.wait_for_vectors()
        return await measure(catalog, probes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", type=Path, default=(evaluation_set() or demo_set()).catalog)
    parser.add_argument("--cache-dir", type=Path, default=None, help="keep what is computed here")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.cache_dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = asyncio.run(run(options.catalog, folder))
    for fold in ("open", "locked"):
        print(table(f"{fold} probes", [r for r in results if r.judged.qid.startswith(fold)]), "\n")
    opened = [r for r in results if r.judged.qid.startswith("open")]
    for result in sorted(opened, key=lambda r: r.score)[: options.worst]:
        print(f"- {result.score:.2f} {result.judged.type}: {result.judged.query}")


if __name__ == "__main__":
    main()
