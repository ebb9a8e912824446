"""Foreign clients and suites, installed once into .cache with pinned versions: they need a package registry."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.serving import ROOT

CLIENTS = ROOT / "tests" / "wire" / "clients"
CACHE = ROOT / ".cache" / "clients"
MCP_1 = "mcp==1.30.0"
INSTALL_SECONDS = 300
SWITCH = "MANGA_TEST_CLIENTS"


WANTED = os.environ.get("CI") == "true" or os.environ.get(SWITCH) == "1"
only_where_wanted = pytest.mark.skipif(
    not WANTED, reason=f"installs foreign clients from a package registry; {SWITCH}=1 runs it here, CI always does"
)


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


def python_with_mcp_1() -> Path:
    """A Python of its own with the 1.x client. Raises AssertionError when pip fails."""
    folder = CACHE / "mcp-1"
    python = folder / "venv" / "bin" / "python"

    def install() -> None:
        _run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
        _run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", MCP_1], folder)

    _once(folder, f"{MCP_1} {sys.version}".encode(), install)
    return python


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
