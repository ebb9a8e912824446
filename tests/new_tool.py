"""Follows infra/docs/adding-a-tool.md in a copy of the project, and tests the copy.

    python -m tests.new_tool [PATH ...]

The file, the line and the test are taken from that page, so that it cannot promise what is not so. PATHs are what pytest runs
there instead of all unit and component tests and of the wire tests that look at the list of tools. Exit status 0 when everything passes.
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
TESTS = (
    "tests/unit",
    "tests/component",
    *(f"tests/wire/test_{name}.py" for name in ("tool_lists", "raw_clients", "smoke", "switches", "readme_snippets", "jwt")),
)
GUIDE = "infra/docs/adding-a-tool.md"
SHARED = (".venv", ".cache")
LEFT = (".git", ".env", "__pycache__", ".*_cache", ".hypothesis", "node_modules")
FROM_THE_GUIDE = {
    "file": re.compile(
        r"For example `(tools/\w+\.py)`:\n\n<!-- new tool -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
    ),
    "test": re.compile(
        r"For example `(tests/[\w/]+\.py)`:\n\n<!-- new test -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
    ),
    "line": re.compile(r"^\*\*The line\*\* is `(\w+)(\.TOOL)` in \[tools/registry\.py\]", re.MULTILINE),
}


def copied(folder: Path) -> None:
    """Everything but what was computed or installed; of that the environment, by a link."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*SHARED, *LEFT), dirs_exist_ok=True)
    for name in SHARED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def follow_the_guide(folder: Path) -> None:
    """Raises ValueError where the guide does not say it as it is looked for here."""
    guide = (folder / GUIDE).read_text("utf-8")
    found = {what: pattern.search(guide) for what, pattern in FROM_THE_GUIDE.items()}
    if lacking := [what for what, match in found.items() if match is None]:
        raise ValueError(f"{GUIDE} has no {', no '.join(lacking)} of a new tool")
    for what in ("file", "test"):
        path, text = found[what].groups()  # type: ignore[union-attr]
        (folder / path).write_text(text, "utf-8")
    module, rest = found["line"].groups()  # type: ignore[union-attr]
    add_the_line(folder / "tools" / "registry.py", module, rest)


def add_the_line(registry: Path, module: str, rest: str) -> None:
    """At the end of the list, and the module beside those that are imported already."""
    text = registry.read_text("utf-8")
    text, listed = re.subn(
        r"(^TOOLS: .*?)(^\))", rf"\1    {module}{rest},\n\2", text, count=1, flags=re.MULTILINE | re.DOTALL
    )
    text, imported = re.subn(r"^from tools import ", f"from tools import {module}, ", text, count=1, flags=re.MULTILINE)
    if not listed or not imported:
        raise ValueError("tools/registry.py has no list of tools, or no import of them")
    registry.write_text(text, "utf-8")


def passes(folder: Path, *command: str) -> bool:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, check=False).returncode == 0


def main(paths: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="new-tool-") as name:
        folder = Path(name)
        copied(folder)
        follow_the_guide(folder)
        ready = passes(folder, "ruff", "check", "-q", "--fix", "--select", "I", "tools/registry.py")
        ready = passes(folder, "ruff", "format", "-q", "tools/registry.py") and ready
        ready = passes(folder, "tests.snapshots.update") and ready
        checks = (("ruff", "check", "-q", "."), ("ruff", "format", "-q", "--check", "."), ("mypy",))
        passed = [passes(folder, *each) for each in (*checks, ("pytest", "-q", *(paths or TESTS)))]
    return 0 if ready and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
