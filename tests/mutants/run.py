"""`make mutants`: how many small faults in the code the unit, component and contract tests notice.

A sample is drawn from each area with a stated seed. A mutant that behaves like the original for every caller cannot be
noticed: those are listed, with the reason, in equivalents.json, and left out of the share. Exit code 1 below the bar.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants.areas import AREAS, modules  # noqa: E402
from tests.mutants.copy_of_tree import renewed_copy  # noqa: E402
from tests.mutants.covering import TESTS, Covering, Measured, measure  # noqa: E402
from tests.mutants.mutants import Mutant, mutants_of, sample  # noqa: E402
from tests.mutants.report import Equivalents, Share, Verdicts, killers, write_figures  # noqa: E402
from tests.mutants.trial import Bench  # noqa: E402

CACHE = ROOT / ".cache" / "mutants"
BAR = 0.92


def bench(python: Path, *, as_measured: bool) -> Bench:
    """Measures what has to be measured: everything, or only the tests that are new where nothing else is."""
    tree, measured = CACHE / "tree", Measured(CACHE)
    changed = renewed_copy(ROOT, tree)
    tests = [each for each in changed if _is_of_tests(each) and (ROOT / each).exists()]
    if not measured.data.exists() or (not as_measured and set(changed) - set(tests)):
        measure(tree, python, measured)
    elif tests:
        measure(tree, python, measured, tests)
    return Bench(tree, python, Covering(tree, measured))


def _is_of_tests(path: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in TESTS)) and Path(path).name.startswith("test_")


def chosen(area: str, size: int, seed: int) -> list[Mutant]:
    mutants = [mutant for path in modules(ROOT, area) for mutant in mutants_of(ROOT, path)]
    return sample(ROOT, mutants, size, random.Random(f"{seed} {area}"))


def share_of(area: str, at: Bench, options: argparse.Namespace) -> Share:
    """Tries the sample. Raises SystemExit where a test that has killed something fails without any mutant."""
    verdicts = Verdicts(CACHE / f"verdicts-{area}-{options.seed}.jsonl")
    mutants = chosen(area, options.sample, options.seed)
    known = verdicts.killed() if options.survivors else set()
    to_try = [each for each in mutants if each.name not in known]
    verdicts.forget(each.name for each in to_try)
    for mutant in to_try:
        verdict = at.verdict(mutant)
        verdicts.add(verdict)
        if verdict.outcome != "killed":
            print(f"{verdict.outcome}  {mutant.name}\n{verdict.diff}", flush=True)
    rows = verdicts.of(each.name for each in mutants)
    if (liar := at.failing(killers(rows))) is not None:
        raise SystemExit(f"{liar} fails without any mutant: what it has killed is not known")
    return Share.of(area, rows, Equivalents.load())


def main() -> int:
    options = _options()
    CACHE.mkdir(parents=True, exist_ok=True)
    at = bench(ROOT / ".venv" / "bin" / "python", as_measured=options.measured)
    shares = []
    for area in options.area or AREAS:
        shares.append(share_of(area, at, options))
        print(*shares[-1].cells(), sep="\t", flush=True)
    at.close()
    if options.write:
        write_figures(shares, options.seed)
    return 0 if all(share.share >= BAR for share in shares) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=50, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area; may be given again")
    parser.add_argument("--measured", action="store_true", help="which tests run which line is known from the run before")
    parser.add_argument("--survivors", action="store_true", help="only what the runs before have not killed")
    parser.add_argument("--write", action="store_true", help="write the figures to tests/mutants/shares.tsv")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
