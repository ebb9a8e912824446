#!/usr/bin/env python3
"""Limits the size of the product: the bounds in `infra/ratchet.toml` may only fall.

    python infra/ratchet.py            exits with 1 if a size exceeds its bound
    python infra/ratchet.py --write    lowers each bound to the current size

A commit that has to raise a bound states the reason in the same file, in `why`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUNDS = ROOT / "infra" / "ratchet.toml"
PRODUCT = ("server", "tools", "session")


def measure() -> dict[str, int]:
    """Counts the product's Python lines, modules and page lines, and the tree's documents, their lines, and test lines.
    Markdown that the server serves (skills, policies) does not count as a document."""
    python = _tracked("*.py", *PRODUCT)
    pages = [each for suffix in ("*.js", "*.css", "*.html") for each in _tracked(suffix, *PRODUCT)]
    documents = [each for each in _tracked("*.md") if each.name != "policies.md" and "skills" not in each.parts]
    return {
        "python_lines": _lines(python),
        "python_modules": len(python),
        "page_lines": _lines(pages),
        "markdown_files": len(documents),
        "markdown_lines": _lines(documents),
        "test_lines": _lines(_tracked("*.py", "tests")),
    }


def _tracked(pattern: str, *folders: str) -> list[Path]:
    named = [f":(glob){folder}/**/{pattern}" for folder in folders] or [f":(glob)**/{pattern}"]
    listed = subprocess.run(["git", "ls-files", "--", *named], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for each in listed.stdout.splitlines() if (path := ROOT / each).exists()]


def _lines(files: list[Path]) -> int:
    return sum(each.read_bytes().count(b"\n") for each in files)


def main(arguments: list[str]) -> int:
    text = BOUNDS.read_text("utf-8")
    allowed: dict[str, int] = tomllib.loads(text)["most"]
    found = measure()
    if grown := [name for name, most in allowed.items() if found[name] > most]:
        for name in grown:
            print(f"{name}: {found[name]}, and {allowed[name]} is the most: make it smaller, or say why in {BOUNDS.name}")
        return 1
    if "--write" in arguments:
        for name, most in allowed.items():
            text = text.replace(f"{name} = {most}", f"{name} = {found[name]}")
        BOUNDS.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
