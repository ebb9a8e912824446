"""One mutant against the tests that run its line, in a copy of the tree of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from tests.mutants.mutants import Mutant

MOST_SECONDS = 600
AT_ONCE = 400
"""Test ids on one command line."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is killed, survived or untested."""

    mutant: Mutant
    outcome: str
    diff: str


def tried(mutant: Mutant, tests: list[str], tree: Path, python: Path) -> Verdict | None:
    """None where the mutant is the module as it stands."""
    module = tree / mutant.path
    original = module.read_text(encoding="utf-8")
    changed = mutant.code(original)
    if changed is None:
        return None
    diff = "".join(
        line
        for line in unified_diff(original.splitlines(True), changed.splitlines(True), n=0)
        if line[:3] not in ("---", "+++")
    )
    if not tests:
        return Verdict(mutant, "untested", diff)
    module.write_text(changed, encoding="utf-8")
    try:
        killed = any(_fails(tests[start : start + AT_ONCE], tree, python) for start in range(0, len(tests), AT_ONCE))
    finally:
        module.write_text(original, encoding="utf-8")
    return Verdict(mutant, "killed" if killed else "survived", diff)


def _fails(tests: list[str], tree: Path, python: Path) -> bool:
    """A run that does not end is a failure too. Without byte code: a file may change twice within its time stamp."""
    command = [str(python), "-m", "pytest", "-qx", "-p", "no:cacheprovider", "--timeout=60", *tests]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(MOST_SECONDS) != 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
