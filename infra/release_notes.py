"""Prints the changelog's section of a version: `python infra/release_notes.py v0.1.0`.

Exits with 1 and the reason if the tag is not the version of pyproject.toml, or the changelog has no section for it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = re.compile(r"v(\d+\.\d+\.\d+)")


def notes_of(tag: str, changelog: str, version: str) -> str:
    """Returns the changelog's section of `version`. Raises ValueError if there is none, or `tag` is another version."""
    named = TAG.fullmatch(tag)
    if named is None or named[1] != version:
        raise ValueError(f"the tag is {tag}, and the version in pyproject.toml {version}")
    section = re.search(rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^## |^\[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise ValueError(f"CHANGELOG.md has nothing under [{version}]")
    return section[1].strip() + "\n"


def main() -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    try:
        print(notes_of(sys.argv[1], (ROOT / "CHANGELOG.md").read_text("utf-8"), version), end="")
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
