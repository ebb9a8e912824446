"""`make mutants`: how many small faults in the code the unit, component and contract tests notice.

A sample is drawn from each area with a stated seed. A mutant that behaves like the original for every caller cannot be
noticed: those are listed, with the reason, in equivalents.json, and left out of the share. Exit code 1 below the bar.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants.areas import AREAS, modules  # noqa: E402
from tests.mutants.covering import Covering, measure  # noqa: E402
from tests.mutants.mutants import Mutant, mutants_of, sample  # noqa: E402
from tests.mutants.report import Equivalents, table  # noqa: E402
from tests.mutants.trial import Verdict, tried  # noqa: E402

CACHE = ROOT / ".cache" / "mutants"
BAR = 0.92


def copy_of_the_tree(name: str) -> Path:
    """What git knows, and what is new: with links to the environment and to the servers that the tests start."""
    tree = CACHE / name
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for each in listed.stdout.splitlines():
        if (ROOT / each).is_file() and not (ROOT / each).is_symlink():
            (tree / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / each, tree / each)
    (tree / ".cache").mkdir()
    for link in (".venv", ".cache/stack", ".cache/clients"):
        if (ROOT / link).exists():
            (tree / link).symlink_to((ROOT / link).resolve())
    return tree


def chosen(areas: Sequence[str], size: int, seed: int) -> dict[str, list[Mutant]]:
    """`size` mutants of each area."""
    found = {}
    for area in areas:
        mutants = [mutant for path in modules(ROOT, area) for mutant in mutants_of(ROOT, path)]
        found[area] = sample(mutants, size, random.Random(f"{seed} {area}"))
    return found


def all_tried(mutants: Sequence[Mutant], covering: Covering, trees: Sequence[Path], python: Path) -> list[Verdict]:
    """As many at once as there are trees."""
    free: SimpleQueue[Path] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Verdict | None:
        tree = free.get()
        try:
            verdict = tried(mutant, covering.tests_of(mutant.path, mutant.line), tree, python)
        finally:
            free.put(tree)
        if verdict is not None and verdict.outcome != "killed":
            print(f"{verdict.outcome}  {mutant.path}:{mutant.line}  {mutant.operator}\n{verdict.diff}", flush=True)
        return verdict

    with ThreadPoolExecutor(len(trees)) as pool:
        return [verdict for verdict in pool.map(one, mutants) if verdict is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=50, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area; may be given again")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--measured", action="store_true", help="which tests run which line is known from the run before")
    parser.add_argument("--write", action="store_true", help="write the report to tests/mutants/README.md")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    python, data = ROOT / ".venv" / "bin" / "python", CACHE / "coverage"
    trees = [copy_of_the_tree(f"tree-{i}") for i in range(options.at_once)]
    if not options.measured:
        measure(trees[0], python, data)
    covering = Covering(trees[0], data)
    verdicts = {
        area: all_tried(mutants, covering, trees, python)
        for area, mutants in chosen(options.area or list(AREAS), options.sample, options.seed).items()
    }
    equivalents = Equivalents.load()
    text, share = table(verdicts, equivalents, options.seed)
    print(text)
    if options.write:
        readme = ROOT / "tests" / "mutants" / "README.md"
        head, _, _ = readme.read_text(encoding="utf-8").partition("<!-- figures -->")
        readme.write_text(f"{head}<!-- figures -->\n{text}", encoding="utf-8")
    kept = [
        {
            "path": str(v.mutant.path),
            "line": v.mutant.line,
            "operator": v.mutant.operator,
            "outcome": v.outcome,
            "diff": v.diff,
        }
        for each in verdicts.values()
        for v in each
    ]
    (CACHE / "verdicts.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
