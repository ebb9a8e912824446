"""Follows infra/docs/adding-a-tool.md in a copy of the project, and runs there what is asked of every tool.

    python -m tests.new_tool [PATH ...]

The page's files and its line are taken as they are written there. PATHs are what pytest runs at the end, instead of the new
test and of those that go over all tools. Exit status 0 when all of it is so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = "infra/docs/adding-a-tool.md"
REGISTRY = "tools/registry.py"
OVER_ALL_TOOLS = ("tests/unit/tools/test_tools.py", "tests/unit/registry/test_registry.py")
FULL = f"{OVER_ALL_TOOLS[0]}::test_tool_list_fits_into_24_kilobytes"
"""Asks for room that the page tells its reader to make."""
FILE = re.compile(r"^\*\*\d\. The (?:file|test)\*\* `([\w/]+\.py)`[^\n]*\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\*\*2\. The line\*\* is `(\w+)\.TOOL` in \[tools/registry\.py\]", re.MULTILINE)
_LIST = re.compile(r"(?<=^TOOLS: tuple\[Tool, \.\.\.\] = \(\n)(?:    .*\n)*(?=\))", re.MULTILINE)
_IMPORT = re.compile(r"^from tools import (\(\s*)?", re.MULTILINE)
SHARED = (".venv", ".cache")
LEFT = (".git", ".env", "__pycache__", ".*_cache", ".hypothesis", "node_modules")


def copied(folder: Path) -> None:
    """Everything but what was computed or installed; of that the environment, by a link."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*SHARED, *LEFT), dirs_exist_ok=True)
    for name in SHARED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def follow_the_guide(folder: Path) -> list[str]:
    """Adds the files and the line, and returns the files' paths. Raises ValueError where the page does not show them."""
    guide, registry = (folder / GUIDE).read_text("utf-8"), folder / REGISTRY
    files, line = dict(FILE.findall(guide)), LINE.search(guide)
    if len(files) != 2 or line is None:
        raise ValueError(f"{GUIDE} shows no file, line and test of a new tool")
    for path, text in files.items():
        (folder / path).write_text(text, "utf-8")
    registry.write_text(with_line(registry.read_text("utf-8"), line[1]), "utf-8")
    return list(files)


def with_line(registry: str, module: str) -> str:
    """The text with it at the end. Raises ValueError for a registry of another form."""
    if not (_LIST.search(registry) and _IMPORT.search(registry)):
        raise ValueError("tools/registry.py has no list of tools, or no import of them")
    imported = _IMPORT.sub(rf"\g<0>{module}, ", registry, count=1)
    return _LIST.sub(rf"\g<0>    {module}.TOOL,\n", imported, count=1)


def passes(folder: Path, *command: str) -> bool:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, check=False).returncode == 0


def checked(folder: Path, files: Sequence[str], paths: Sequence[str] = ()) -> bool:
    """Whether the files are as the project writes them, and pass what is asked of every tool."""
    commands = (
        ("ruff", "check", "-q", "--fix", "--select", "I", REGISTRY),
        ("ruff", "format", "-q", REGISTRY),
        ("ruff", "check", "-q", *files, REGISTRY),
        ("ruff", "format", "-q", "--check", *files),
        ("pytest", "-q", "-n0", "--deselect", FULL, *(paths or (files[-1], *OVER_ALL_TOOLS))),
    )
    return all(passes(folder, *command) for command in commands)


def main(paths: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="new-tool-") as name:
        copied(folder := Path(name))
        files = follow_the_guide(folder)
        written = passes(folder, "mypy", files[0]) and passes(folder, "tests.snapshots.update")
        return 0 if checked(folder, files, paths) and written else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
