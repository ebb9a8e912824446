"""Which tests run which line: measured once over the unit, component and contract tests, with pytest-cov's context for each test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from coverage import CoverageData

TESTS = ("tests/unit", "tests/component", "tests/contract")
SECONDS = 3600


def measure(tree: Path, python: Path, data: Path) -> None:
    """Runs the tests in `tree`. Raises SystemExit where they do not pass: then no mutant can be judged."""
    measured = [f"--cov={name}" for name in ("server", "session", "tools")]
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *TESTS,
        *measured,
        "--cov-context=test",
        "--cov-report=",
    ]
    environment = {"COVERAGE_FILE": str(data)}
    done = subprocess.run(
        command, cwd=tree, env=os.environ | environment, timeout=SECONDS, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"the tests do not pass as they are:\n{done.stdout[-3000:]}")


class Covering:
    """Raises `LookupError` for a module that no test imports."""

    def __init__(self, tree: Path, data: Path) -> None:
        self._tree = tree
        self._data = CoverageData(str(data))
        self._data.read()
        self._lines: dict[Path, dict[int, list[str]]] = {}

    def tests_of(self, path: Path, line: int) -> list[str]:
        """Ids of the tests that run the line, the cheap ones first. A line that only an import runs (a constant, a default)
        is tested by whatever runs any line of its module."""
        by_line = self._lines.get(path)
        if by_line is None:
            by_line = self._lines[path] = self._data.contexts_by_lineno(str(self._tree / path))
        found = _tests(by_line.get(line, []))
        return found or _tests([context for contexts in by_line.values() for context in contexts])


def _tests(contexts: list[str]) -> list[str]:
    """Contexts are "id|phase". Component tests wire several parts and contract tests start servers, so they come after."""
    ids = {context.rpartition("|")[0] for context in contexts if "|" in context}
    return sorted(ids, key=lambda test: (tuple(test.startswith(folder) for folder in reversed(TESTS)), test))
