"""The server as its image has it: `python -m tests.load.stack_launch NAMES FILE`.

Hidden are the packages that only the development requirements bring along: some libraries import whatever else they find,
and the server would be larger here than where it is used. FILE is told what the garbage collector does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path

from tests.load.collector import Watch


class Hidden(MetaPathFinder):
    """Modules that are as if they were not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"{fullname} is hidden", name=fullname)


def main() -> int:
    """The names are one argument, comma separated."""
    Watch(Path(sys.argv[2])).begin()
    sys.meta_path.insert(0, Hidden(sys.argv[1].split(",")))
    from server.commands.cli import main as serve

    return serve(["serve", "--with-parent"])


if __name__ == "__main__":
    sys.exit(main())
