"""`make quality`: how good the search is, as a Markdown table on stdout.

`--backend opensearch` measures the same on a real node, which it starts (MANGA_STACK_OPENSEARCH names one that runs),
`--backend standby-full` and `standby-names` on a standby catalogue, made and loaded as a server does.
Exit code 1 when a set that is there misses its bar; a set that is not there is named and skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.quality.measure import Measured, macro, measure, table
from tests.quality.opensearch import node_url, run_on_opensearch
from tests.quality.sets import JudgedSet, demo_set, evaluation_set, missing_message
from tests.quality.standby import STANDBYS, run_on_standby
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import LocalEmbedder


async def run_set(judged: JudgedSet, cache_dir: Path | None, lexical: bool) -> list[Measured]:
    """Searches with vectors, waited for, or lexically alone."""
    async with LocalEmbedder() as embedder:
        opened = EmbeddedCatalog.open(judged.catalog, None if lexical else embedder, cache_dir=cache_dir)
        async with opened as catalog:
            await catalog.wait_for_vectors()
            return await measure(catalog, judged.queries())


def report(judged: JudgedSet, results: list[Measured], worst: int) -> bool:
    """Prints the table; whether the bar is reached."""
    reached = macro(results) >= judged.bar
    print(table(judged.name, results))
    print(f"\nBar: {judged.bar:.2f}, {'reached' if reached else 'MISSED'}.\n")
    for result in sorted(results, key=lambda r: r.score)[:worst]:
        print(f"- {result.score:.2f} {result.judged.type}: {result.judged.query}")
    return reached


def runner(options: argparse.Namespace, stack: ExitStack) -> Callable[[JudgedSet], Coroutine[Any, Any, list[Measured]]]:
    """What measures a set on the chosen backend; a node that it starts lives as long as `stack`."""
    if options.backend in STANDBYS:
        return lambda judged: run_on_standby(judged, STANDBYS[options.backend])
    if options.backend == "embedded":
        return lambda judged: run_set(judged, options.cache_dir, options.lexical)
    url = stack.enter_context(node_url())
    return lambda judged: run_on_opensearch(judged, url, options.lexical)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("embedded", "opensearch", *STANDBYS), default="embedded")
    parser.add_argument("--cache-dir", type=Path, default=None, help="keep what is computed here")
    parser.add_argument("--lexical", action="store_true", help="leave the vector leg out (bars do not apply)")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst queries")
    options = parser.parse_args()
    large = evaluation_set()
    if large is None:
        print(f"Skipped: {missing_message()}.\n")
    sets = [judged for judged in (demo_set(), large) if judged is not None]
    with ExitStack() as stack:
        run = runner(options, stack)
        reached = [report(judged, asyncio.run(run(judged)), options.worst) for judged in sets]
    return 0 if all(reached) or options.lexical else 1


if __name__ == "__main__":
    sys.exit(main())
