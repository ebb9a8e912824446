"""Clients in TypeScript and the official suites, installed once into .cache with pinned versions by npm."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.serving import ROOT

CLIENTS = ROOT / "tests" / "wire" / "clients"
CACHE = ROOT / ".cache" / "clients"
INSTALL_SECONDS = 300
NPM_TEST_SECONDS = 400
SWITCH = "MANGA_TEST_CLIENTS"
Test = TypeVar("Test", bound=Callable[..., object])

WANTED = os.environ.get("CI") == "true" or os.environ.get(SWITCH) == "1"
only_where_wanted = pytest.mark.skipif(
    not WANTED, reason=f"installs clients and suites with npm; {SWITCH}=1 runs it here, CI always does"
)


def with_npm(test: Test) -> Test:
    """For a test that installs from npm's registry."""
    marks = (pytest.mark.network, pytest.mark.timeout(NPM_TEST_SECONDS), only_where_wanted)
    return reduce(lambda marked, mark: mark(marked), marks, test)


class Node:
    """npm packages and a Node that is new enough for all of them."""

    def __init__(self, modules: Path) -> None:
        self.modules = modules
        self.program = modules / ".bin" / "node"

    def script(self, path: str) -> list[str]:
        """The command for a script of an installed package."""
        return [str(self.program), str(self.modules / path)]

    def beside(self, script: Path) -> list[str]:
        """The command for a script of ours, put where its imports are found."""
        copy = self.modules.parent / script.name
        shutil.copyfile(script, copy)
        return [str(self.program), str(copy)]


def node() -> Node:
    """Raises AssertionError when npm is missing or fails."""
    folder = CACHE / "npm"
    listed = CLIENTS / "package.json"

    def install() -> None:
        npm = shutil.which("npm")
        assert npm, "npm has to be there for the clients in TypeScript"
        shutil.copyfile(listed, folder / "package.json")
        _run([npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], folder)

    _once(folder, listed.read_bytes(), install)
    return Node(folder / "node_modules")


def _once(folder: Path, what: bytes, install: Callable[[], None]) -> None:
    """Installs anew whenever `what` has changed; a stamp is written last, so that half an installation is none."""
    stamp, digest = folder / "installed", hashlib.sha256(what).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    install()
    stamp.write_text(digest)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
