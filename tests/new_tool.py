"""Follows infra/docs/adding-a-tool.md in a copy of the project.

    python -m tests.new_tool [PATH ...]

The tool that the page names is one of the store's. It is taken out of the copy: its file, its line, its test, and what
`make snapshots` makes of them. No other code may name it, or the page would not say all. Then the page is followed. What
comes out has to be this tree, byte for byte: whatever CI runs on this one passes on that one. PATHs are what pytest runs at
the end, instead of the new test and of those that go over all tools. Exit status 0 when all of it is so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.snapshots.guide import GUIDE, Example, example
from tests.support.registry_line import with_line, without_line

ROOT = Path(__file__).resolve().parents[1]
REGISTRY = "tools/registry.py"
OVER_ALL_TOOLS = ("tests/unit/tools/test_tools.py", "tests/unit/registry/test_registry.py")
SHARED = (".venv", ".cache")
LEFT = (".git", ".env", "__pycache__", ".*_cache", ".hypothesis", "node_modules")
CODE = (".py", ".toml", ".json", ".yml", ".sh", ".mjs", ".lua")
"""Endings of what works; documents may name whatever they like."""
CONVERSATIONS = Path("tests/conversations")
"""Shoppers are answered with whatever tool there is."""


def copied(folder: Path) -> None:
    """Everything but what was computed or installed; of that the environment, by a link."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*SHARED, *LEFT), dirs_exist_ok=True)
    for name in SHARED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def take_out(folder: Path, shown: Example) -> int:
    """Returns the place that the tool had in the list."""
    registry = folder / REGISTRY
    text, place = without_line(registry.read_text("utf-8"), shown.line)
    registry.write_text(text, "utf-8")
    for path in shown.files:
        (folder / path).unlink()
    return place


def follow_the_guide(folder: Path, shown: Example, place: int | None = None) -> None:
    """Adds the file, the test and the line."""
    registry = folder / REGISTRY
    for path, text in shown.files.items():
        (folder / path).write_text(text, "utf-8")
    registry.write_text(with_line(registry.read_text("utf-8"), shown.line, place), "utf-8")


def naming(folder: Path, name: str) -> list[str]:
    """The files of code that have this name in them."""
    code = (path for path in _files(folder) if path.suffix in CODE and not path.is_relative_to(CONVERSATIONS))
    return [str(path) for path in code if name in (folder / path).read_text("utf-8")]


def differing(folder: Path) -> list[str]:
    """The files that are not in both trees, or not the same."""
    here, there = ({path: (root / path).read_bytes() for path in _files(root)} for root in (ROOT, folder))
    return sorted(str(path) for path in here.keys() | there.keys() if here.get(path) != there.get(path))


def _files(root: Path) -> Iterator[Path]:
    left = shutil.ignore_patterns(*SHARED, *LEFT)
    for folder, folders, names in os.walk(root):
        ignored = left(folder, [*folders, *names])
        folders[:] = [name for name in folders if name not in ignored]
        yield from ((Path(folder) / name).relative_to(root) for name in names if name not in ignored)


def passes(folder: Path, *command: str) -> bool:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, check=False).returncode == 0


def none(what: str, files: Sequence[str]) -> bool:
    print(f"{what}: {', '.join(files) or 'none'}", flush=True)
    return not files


def written(folder: Path) -> bool:
    """As who follows the page does at its end."""
    formatted = passes(folder, "ruff", "check", "-q", "--fix", "--select", "I", REGISTRY)
    return formatted and passes(folder, "ruff", "format", "-q", REGISTRY) and passes(folder, "tests.snapshots.update")


def main(paths: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="new-tool-") as name:
        folder, shown = Path(name), example(ROOT)
        copied(folder)
        place = take_out(folder, shown)
        passed = [written(folder), none(f"files that name {shown.module} still", naming(folder, shown.module))]
        passed.append(passes(folder, "pytest", "-q", *OVER_ALL_TOOLS))
        follow_the_guide(folder, shown, place)
        passed += [written(folder), none(f"files in which {GUIDE} leads elsewhere", differing(folder))]
        new_test = [path for path in shown.files if path.startswith("tests/")]
        passed.append(passes(folder, "pytest", "-q", *(paths or (*new_test, *OVER_ALL_TOOLS))))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
