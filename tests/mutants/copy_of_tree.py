"""The copy of the tree in which modules are changed, kept from run to run with its byte code."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
from pathlib import Path

LINKS = (".venv", ".cache/clients")
"""Not the stack: the tests against the real OpenSearch and DynamoDB take minutes to start those, and what they alone test
is in no area."""


def renewed_copy(root: Path, tree: Path) -> list[str]:
    """What git knows below `root`, and what is new. The paths of what has changed since the last time."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    files = [each for each in listed.stdout.splitlines() if (root / each).is_file() and not (root / each).is_symlink()]
    changed = [each for each in files if not _same(root / each, tree / each)]
    for each in changed:
        (tree / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / each, tree / each)
    gone = [each for each in _files(tree) if each not in set(files)]
    for each in gone:
        (tree / each).unlink()
    (tree / ".cache").mkdir(exist_ok=True)
    for link in LINKS:
        if (root / link).exists() and not (tree / link).is_symlink():
            (tree / link).symlink_to((root / link).resolve())
    return changed + gone


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _files(tree: Path) -> list[str]:
    """Without what the tests leave there."""
    found = (each.relative_to(tree) for each in tree.rglob("*.py") if each.is_file())
    return [str(each) for each in found if each.parts[0] not in (".venv", ".cache")]
