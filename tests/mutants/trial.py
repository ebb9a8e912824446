"""One mutant against the tests that run its line, in a copy of the tree."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import accumulate
from pathlib import Path

from tests.mutants.covering import OPTIONS, Covering, file_of
from tests.mutants.journal import JOURNAL, WANTED, lines_of
from tests.mutants.mutants import Mutant

MOST_SECONDS = 20.0
"""Of tests, as they took without a mutant. What that many do not notice has survived."""
PARTS = (1, 3, 8)
"""Files of tests up to the end of each run; the rest is one more. Most mutants are noticed at once."""
HANGS_AFTER, TIMES_SLOWER = 30.0, 20.0
"""A test hangs after so many seconds, and after so many times what it took without a mutant: this machine may be busy."""
TOO_QUICK_TO_BE_LATE = 0.1
"""Seconds. A test that failed within them had no time to wait for anything."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is killed, survived or untested; `killer` the test that noticed."""

    mutant: Mutant
    outcome: str
    diff: str
    killer: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The first of a run. `test` is empty where not even the tests could be collected."""

    test: str
    seconds: float


class Bench:
    """Where mutants are tried, one after the other: a copy of the tree with the tests' byte code, and a process that forks
    for each run of pytest (`forks.py`)."""

    def __init__(self, tree: Path, python: Path, covering: Covering) -> None:
        self._tree = tree
        self._covering = covering
        self._forks = subprocess.Popen(
            [str(python), "-m", "tests.mutants.forks"],
            cwd=tree,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        assert self._forks.stdin
        self._forks.stdin.close()
        self._forks.wait()

    def verdict(self, mutant: Mutant) -> Verdict:
        module = self._tree / mutant.path
        original, stamp = module.read_text(encoding="utf-8"), module.stat()
        changed = mutant.code(original) or original
        diff = _difference(original, changed)
        tests = self._affordable(self._covering.tests_of(mutant))
        if not tests:
            return Verdict(mutant, "untested", diff)
        module.write_text(changed, encoding="utf-8")
        try:
            killer = next((found for part in _parts(tests) if (found := self._killer(part)) is not None), None)
        finally:
            module.write_text(original, encoding="utf-8")
            os.utime(module, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # its byte code is good again
        return Verdict(mutant, "survived" if killer is None else "killed", diff, killer or "")

    def failing(self, tests: Sequence[str]) -> str | None:
        """The first of them that fails as things are; None when all pass."""
        failure = self._run(tests)
        return failure.test if failure else None

    def _affordable(self, tests: Sequence[str]) -> list[str]:
        spent = accumulate(self._covering.seconds[test] for test in tests)
        return [test for test, until in zip(tests, spent, strict=True) if until <= MOST_SECONDS] or list(tests[:1])

    def _killer(self, tests: Sequence[str]) -> str | None:
        """The first test that fails for the mutant's sake. One that took its time has to fail a second time, alone."""
        while tests:
            failure = self._run(tests)
            if failure is None:
                return None
            alone = [failure.test] if failure.test in tests else tests
            if failure.seconds < TOO_QUICK_TO_BE_LATE or self._run(alone, patience=2):
                return failure.test
            tests = tests[tests.index(failure.test) + 1 :] if failure.test in tests else ()
        return None

    def _run(self, tests: Sequence[str], patience: float = 1) -> Failure | None:
        """Up to the first failure. A run that does not end has hung too."""
        if not tests:
            return None
        seconds = self._covering.seconds
        limits = {test: patience * (HANGS_AFTER + TIMES_SLOWER * seconds.get(test, 0)) for test in tests}
        journal, wanted = self._tree / ".cache" / "journal.jsonl", self._tree / ".cache" / "wanted.json"
        journal.unlink(missing_ok=True)
        wanted.write_text(json.dumps(limits), encoding="utf-8")
        files = dict.fromkeys(file_of(test) for test in tests)
        order = {
            "arguments": ["-x", *OPTIONS, *files],
            "environment": {JOURNAL: str(journal), WANTED: str(wanted)},
            "seconds": sum(limits.values()),
        }
        code = self._exit_code(order)
        failed = next((line for line in lines_of(journal) if line.outcome == "failed"), None)
        if failed is not None:
            return Failure(failed.test, failed.seconds)
        # 5: nothing was collected, since a mutant may change what tests are named after. Nobody has noticed that.
        return None if code in (0, 5) else Failure("", HANGS_AFTER)

    def _exit_code(self, order: Mapping[str, object]) -> int:
        assert self._forks.stdin
        assert self._forks.stdout
        self._forks.stdin.write(json.dumps(order) + "\n")
        self._forks.stdin.flush()
        return int(self._forks.stdout.readline())


def _parts(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    files = list(dict.fromkeys(file_of(test) for test in tests))
    ends = (0, *PARTS, max(len(files), *PARTS))
    for first, last in zip(ends, ends[1:], strict=False):
        chosen = set(files[first:last])
        yield [test for test in tests if file_of(test) in chosen]


def _difference(original: str, changed: str) -> str:
    lines = unified_diff(original.splitlines(True), changed.splitlines(True), n=0)
    return "".join(line for line in lines if line[:3] not in ("---", "+++"))
