"""A test that fails beside others and passes alone is reported and fails no run; one that fails twice does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.environments import ROOT

UNSTEADY = """
from pathlib import Path

def test_a():
    seen = Path("seen")
    before = seen.exists()
    seen.touch()
    assert before

def test_b():
    pass
"""
BROKEN = "def test_broken():\n    assert False\n"
MANY = "import pytest\n\n@pytest.mark.parametrize('number', range(4))\ndef test_broken(number):\n    assert False\n"


def again(folder: Path, tests: str) -> tuple[int, str]:
    (folder / "test_some.py").write_text(tests)
    command = [sys.executable, "-m", "tests.again", "-n", "2", "--rootdir", str(folder)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout


def test_unsteady_case_is_rerun_alone_and_reported_without_failing_the_run(tmp_path: Path) -> None:
    code, said = again(tmp_path, UNSTEADY)
    assert code == 0
    assert "UNSTEADY" in said
    assert "test_some.py::test_a" in said.splitlines()[-1]


def test_case_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    code, said = again(tmp_path, UNSTEADY + BROKEN)
    assert code == 1
    assert "UNSTEADY" not in said


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    code, said = again(tmp_path, MANY)
    assert code == 1
    assert "once more" not in said


def test_collection_error_is_not_run_again(tmp_path: Path) -> None:
    code, said = again(tmp_path, "this is no Python")
    assert code != 0
    assert "UNSTEADY" not in said
