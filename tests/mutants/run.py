"""`make mutants`: how many small faults in the code the unit and contract tests notice.

A sample is drawn from each area with a stated seed. A mutant that behaves like the original for every caller cannot be
noticed: those are listed, with the reason, in equivalents.json, and left out of the share. Exit code 1 below the bar.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants.areas import AREAS, modules  # noqa: E402
from tests.mutants.copies import renewed_copy  # noqa: E402
from tests.mutants.covering import Covering, Measured, measure  # noqa: E402
from tests.mutants.mutants import Mutant, mutants_of, sample  # noqa: E402
from tests.mutants.report import Equivalents, Share, Verdicts, killers, write_figures  # noqa: E402
from tests.mutants.trial import Bench, Verdict  # noqa: E402

CACHE = ROOT / ".cache" / "mutants"
BAR = 0.92


def benches(at_once: int, python: Path, *, as_measured: bool) -> list[Bench]:
    """Measures what has to be measured: everything, or only the tests that are new where nothing else is."""
    trees = [CACHE / f"tree-{i}" for i in range(at_once)]
    changed = [renewed_copy(ROOT, tree) for tree in trees][0]
    measured = Measured(CACHE)
    tests = [each for each in changed if each.startswith(("tests/unit/test_", "tests/contract/test_"))]
    tests = [each for each in tests if (ROOT / each).exists()]
    if not measured.data.exists() or (not as_measured and set(changed) - set(tests)):
        measure(trees[0], python, measured)
    elif tests:
        measure(trees[0], python, measured, tests)
    covering = Covering(trees[0], measured)
    return [Bench(tree, python, covering) for tree in trees]


def chosen(area: str, size: int, seed: int) -> list[Mutant]:
    mutants = [mutant for path in modules(ROOT, area) for mutant in mutants_of(ROOT, path)]
    return sample(ROOT, mutants, size, random.Random(f"{seed} {area}"))


def all_tried(mutants: Sequence[Mutant], at: Sequence[Bench]) -> Iterator[Verdict]:
    """As many at once as there are benches."""
    free: SimpleQueue[Bench] = SimpleQueue()
    for bench in at:
        free.put(bench)

    def one(mutant: Mutant) -> Verdict:
        bench = free.get()
        try:
            return bench.verdict(mutant)
        finally:
            free.put(bench)

    with ThreadPoolExecutor(len(at)) as pool:
        yield from pool.map(one, mutants)


def main() -> int:
    options = _options()
    CACHE.mkdir(parents=True, exist_ok=True)
    at = benches(options.at_once, ROOT / ".venv" / "bin" / "python", as_measured=options.measured)
    equivalents = Equivalents.load()
    shares = []
    for area in options.area or AREAS:
        verdicts = Verdicts(CACHE / f"verdicts-{area}-{options.seed}.jsonl")
        mutants = chosen(area, options.sample, options.seed)
        known = verdicts.killed() if options.survivors else set()
        to_try = [each for each in mutants if each.name not in known]
        verdicts.forget(each.name for each in to_try)
        for verdict in all_tried(to_try, at):
            verdicts.add(verdict)
            if verdict.outcome != "killed":
                print(f"{verdict.outcome}  {verdict.mutant.name}\n{verdict.diff}", flush=True)
        rows = verdicts.of(each.name for each in mutants)
        if (liar := at[0].failing(killers(rows))) is not None:
            raise SystemExit(f"{liar} fails without any mutant: what it has killed is not known")
        shares.append(Share.of(area, rows, equivalents))
        print(shares[-1].row(), flush=True)
    for bench in at:
        bench.close()
    if options.write:
        write_figures(shares, options.seed)
    return 0 if all(share.share >= BAR for share in shares) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=50, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area; may be given again")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--measured", action="store_true", help="which tests run which line is known from the run before")
    parser.add_argument("--survivors", action="store_true", help="only what the runs before have not killed")
    parser.add_argument("--write", action="store_true", help="write the figures to tests/mutants/README.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
