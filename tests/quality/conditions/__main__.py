"""`python -m tests.quality.conditions`: how far what shoppers say besides a name is obeyed, as Markdown tables on stdout.

It asks the tools as the server does. Text of locked queries is never printed: nobody should make the product better by them.
Exit code 1 when a bar of the search is missed; a catalogue that is not there is named and skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from tests.quality.conditions.asking import ASKED, Place
from tests.quality.conditions.bars import missed
from tests.quality.conditions.measure import Measured, measure
from tests.quality.conditions.report import table, worst
from tests.quality.conditions.wanted import load_queries
from tests.quality.sets import ROOT, evaluation_folder, missing_message

CATALOGUES = {
    "demo": ROOT / "infra" / "demo" / "catalog.jsonl",
    "evaluation": evaluation_folder() / "catalog.jsonl.gz",
}


def main() -> int:
    queries = load_queries()
    options = _options(sorted({query.kind for query in queries}))
    asked = [query for query in queries if options.kind in (None, query.kind)]
    logging.disable(logging.WARNING)
    reached = []
    for name in [options.catalog] if options.catalog else CATALOGUES:
        place = Place(CATALOGUES[name], options.cache_dir, options.catalog_url)
        if not place.file.is_file():
            print(f"Skipped: {missing_message()}.")
            continue
        reached.append(_report(name, asyncio.run(measure(place, asked, options.tool)), options))
    return 0 if all(reached) else 1


def _report(name: str, results: list[Measured], options: argparse.Namespace) -> bool:
    """Prints the table; whether every bar is reached. There is none for recommendations."""
    print(table(f"{options.tool} with conditions, {name} catalogue", results))
    misses = missed(results) if options.tool == "search" else []
    print(*(f"\nMISSED: {miss}." for miss in misses), *(f"\n{line}" for line in worst(results, options.worst)), sep="")
    return not misses


def _options(kinds: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.conditions", description=__doc__)
    parser.add_argument("--kind", choices=kinds, default=None, help="only these queries")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst open queries")
    parser.add_argument("--catalog", choices=sorted(CATALOGUES), default=None, help="by default each that is there")
    parser.add_argument(
        "--catalog-url", default="embedded:", help="a node that was seeded with this catalogue, as MANGA_CATALOG_URL"
    )
    parser.add_argument("--tool", choices=sorted(ASKED), default="search")
    parser.add_argument("--cache-dir", type=Path, default=None, help="keep what is computed here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
