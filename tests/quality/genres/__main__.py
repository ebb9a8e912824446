"""`python -m tests.quality.genres`: how well classify_genre labels texts, as Markdown tables on stdout.

Every synopsis of a catalogue is given to the local classifier, which may not look at titles of the same author or series; what
is right are the title's own labels. The classifier's few numbers were fitted without the locked third. Exit code 1 when a
bar is missed; a catalogue that is not there is named and skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.quality.genres.bars import missed
from tests.quality.genres.measure import measured
from tests.quality.genres.report import table
from tests.quality.sets import ROOT, evaluation_folder, missing_message

CATALOGUES = {
    "demo": ROOT / "infra" / "demo" / "catalog.jsonl",
    "evaluation": evaluation_folder() / "catalog.jsonl.gz",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.genres", description=__doc__)
    parser.add_argument("--catalog", choices=sorted(CATALOGUES), default=None, help="by default each that is there")
    parser.add_argument("--cache-dir", type=Path, default=None, help="keep what is computed here")
    options = parser.parse_args()
    reached = [_report(name, options.cache_dir) for name in ([options.catalog] if options.catalog else CATALOGUES)]
    return 0 if all(reached) else 1


def _report(name: str, cache_dir: Path | None) -> bool:
    """Prints the table; whether every bar is reached."""
    if not CATALOGUES[name].is_file():
        print(f"Skipped: {missing_message()}.")
        return True
    judged, baseline = asyncio.run(measured(CATALOGUES[name], cache_dir))
    print(table(f"{name} catalogue", judged, baseline))
    misses = missed(name, judged)
    print(*(f"\nMISSED: {miss}." for miss in misses), sep="")
    return not misses


if __name__ == "__main__":
    sys.exit(main())
