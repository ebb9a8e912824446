"""Which tests run which line, and for how long: measured once over the unit, component and contract tests."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.journal import JOURNAL, forget, lines_of
from tests.mutants.mutants import Mutant

TESTS = ("tests/unit", "tests/component", "tests/contract")
SECONDS = 3600
OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "tests.mutants.journal")
"""Of pytest, in every run: without what the run before left behind, and with the journal."""
QUERY = """
SELECT file.path, context.context, line_bits.numbits FROM line_bits
JOIN file ON file.id = line_bits.file_id JOIN context ON context.id = line_bits.context_id
"""
"""Coverage.py documents its data file: bit n % 8 of byte n // 8 is line n."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Files of one measurement."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "coverage"

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"


def measure(tree: Path, python: Path, measured: Measured, tests: Sequence[str] = TESTS) -> None:
    """Runs the tests in `tree`; fewer than all are added to what was measured before. One that fails is named, and judges no
    mutant. Raises SystemExit where they cannot be run."""
    if tests is TESTS:
        measured.journal.unlink(missing_ok=True)
        measured.data.unlink(missing_ok=True)
    else:
        forget(measured.journal, tests)
    coverage = [f"--cov={name}" for name in ("server", "session", "tools")]
    command = [
        str(python),
        "-m",
        "pytest",
        *OPTIONS,
        *tests,
        *coverage,
        "--cov-context=test",
        "--cov-append",
        "--cov-report=",
    ]
    environment = os.environ | {"CI": "", "COVERAGE_FILE": str(measured.data), JOURNAL: str(measured.journal)}
    done = subprocess.run(command, cwd=tree, env=environment, timeout=SECONDS, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"the tests cannot be run:\n{done.stdout[-3000:]}")
    for line in lines_of(measured.journal):
        if line.outcome == "failed":
            print(f"fails without any mutant: {line.test}", flush=True)


class Covering:
    """`tree` is where it was measured; `seconds` is what each test takes."""

    def __init__(self, tree: Path, measured: Measured) -> None:
        self.seconds = _seconds(measured.journal)
        self._lines: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        by_file: dict[tuple[str, str], int] = defaultdict(int)
        for module, test, lines in _measured_lines(tree, measured.data):
            if test in self.seconds:
                self._lines[module][test] |= lines
                by_file[module, file_of(test)] |= lines
        all_of: dict[str, int] = defaultdict(int)
        for (_, file), lines in by_file.items():
            all_of[file] += lines.bit_count()
        self._devotion = {place: lines.bit_count() / (1 + all_of[place[1]]) for place, lines in by_file.items()}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Ids of the tests that may notice it, file by file: first what runs little else than the module, and of that the
        quick ones. What only an import runs (a constant, a default) is tested by whatever runs any line of its module."""
        module = str(mutant.path)
        changed = sum(1 << line for line in set(mutant.lines))
        tests = self._lines[module]
        found = [test for test, lines in tests.items() if lines & changed] or list(tests)
        return sorted(
            found, key=lambda test: (-self._devotion[module, file_of(test)], file_of(test), self.seconds[test], test)
        )


def file_of(test: str) -> str:
    return test.partition("::")[0]


def _measured_lines(tree: Path, data: Path) -> Iterator[tuple[str, str, int]]:
    """Module, test and the lines that it runs, as bits. Contexts are "id|phase"."""
    with sqlite3.connect(data) as connection:
        for path, context, bits in connection.execute(QUERY):
            if Path(path).is_relative_to(tree):
                yield str(Path(path).relative_to(tree)), context.rpartition("|")[0], int.from_bytes(bits, "little")


def _seconds(journal: Path) -> dict[str, float]:
    """Of each test, all its phases together. A test that did not pass says nothing."""
    seconds: dict[str, float] = defaultdict(float)
    silent = set()
    for line in lines_of(journal):
        seconds[line.test] += line.seconds
        silent |= {line.test} if line.outcome != "passed" else set()
    return {test: spent for test, spent in seconds.items() if test not in silent}
