"""Clients in TypeScript and the official suites, as `make clients` installs them by npm, and the Node that runs them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.environments import folder_of
from tests.support.serving import ROOT

CLIENTS = ROOT / "tests" / "wire" / "clients"


@dataclass(frozen=True, slots=True)
class Node:
    """npm packages and a Node that is new enough for all of them: one of the packages, else the machine's own."""

    folder: Path

    @property
    def program(self) -> str:
        brought = sorted((self.folder / "node_modules").glob("node-*-*/bin/node"))
        return str(brought[0]) if brought else "node"

    def script(self, path: str) -> list[str]:
        """The command for a script of an installed package."""
        return [self.program, str(self.folder / "node_modules" / path)]

    def beside(self, script: Path) -> list[str]:
        """The command for a script of ours, put where its imports are found."""
        copy = self.folder / script.name
        shutil.copyfile(script, copy)
        return [self.program, str(copy)]


def node() -> Node:
    """Without it the test fails in CI, and is skipped with the reason elsewhere."""
    return Node(folder_of("clients/npm"))
