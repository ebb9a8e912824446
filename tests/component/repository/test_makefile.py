"""The output of `make`: its help, and the installation steps of a first run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from server.config.settings import ROOT
from tests.support.cases import cases

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def said(*arguments: str) -> str:
    done = subprocess.run(["make", "-s", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_make_help_names_every_target() -> None:
    """The targets are those that are commands."""
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    helped = {line.split()[0] for line in said("help").splitlines()}
    assert helped == set(phony[1].split())


@cases(("stated", "file"), [((), "catalog"), (("ARGS=orders",), "orders")])
def test_make_schema_is_of_the_catalogue_unless_another_file_is_stated(stated: tuple[str, ...], file: str) -> None:
    assert said("-n", "schema", *stated).endswith(f"-m server schema {file}\n")


def test_first_run_of_make_agent_shows_its_installation(tmp_path: Path) -> None:
    """The agent's installation takes as long as the server's."""
    steps = said("-n", f"{tmp_path}/new/.lock", f"STRANDS={tmp_path}/new")
    assert steps.index("installing into") < steps.index("pip install")
    assert not re.search(r"pip install.* (-q|--quiet)\b", steps)


@cases("stamp", [".runtime", ".dev"])
def test_first_run_of_make_shows_its_installation_steps(stamp: str, tmp_path: Path) -> None:
    """It shows steps in words and pip's progress; a stamp file prevents a second installation."""
    steps = said("-n", f"{tmp_path}/new/{stamp}", f"VENV={tmp_path}/new")
    assert steps.index("making ") < steps.index("-m venv") < steps.index("installing ") < steps.index("pip install")
    assert not re.search(r"pip install.* (-q|--quiet)\b", steps)


def test_installation_output_goes_to_stderr(tmp_path: Path) -> None:
    """`make schema > file` may be the first command."""
    steps = said("-n", f"{tmp_path}/new/.runtime", f"VENV={tmp_path}/new").splitlines()
    assert all(each.endswith(">&2") for each in steps if "echo" in each or "pip install" in each)
