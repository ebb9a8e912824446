"""The code of a release in one small file of the repository: a fresh clone may be shallow and without tags.

It holds the server, the seed and a part of the demo. Large word lists are cut, and pictures of previews are left out: beside
another version it matters that what is stored and said is understood, not how well is searched.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "tests" / "release" / "last_release.tar.xz"
MOST_BYTES = 750_000
DEMO = "infra/demo/"
FILES = (f"{DEMO}catalog.jsonl", f"{DEMO}volumes.jsonl", f"{DEMO}orders.jsonl", f"{DEMO}policies.md")
PARTS = ("pyproject.toml", "server", "session", "tools", "infra/__init__.py", "infra/seed", *FILES)
TITLES = 60
READINGS = "tools/store/search/text/japanese.tsv.gz"
STANCES = "tools/store/search/reading/stances.txt.gz"
MOST_STANCES = 2_000


def pack(tree: Path = ROOT, to: Path = ARCHIVE) -> None:
    """Writes the archive of a tree that git tracks: the same bytes for the same files, with nothing of this machine in it."""
    named = subprocess.run(["git", "ls-files", *PARTS], cwd=tree, capture_output=True, text=True, check=True).stdout
    with tarfile.open(to, "w:xz", preset=9) as archive:
        for name in sorted(named.splitlines()):
            if not name.endswith(".png"):
                content = _content(tree, name)
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
    assert to.stat().st_size <= MOST_BYTES, f"{to.name} has {to.stat().st_size} bytes: {MOST_BYTES} are the most"


def unpack(to: Path, archive: Path = ARCHIVE) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(to, filter="data")
    return to


def _content(tree: Path, name: str) -> bytes:
    content = (tree / name).read_bytes()
    if name == READINGS:
        known = _characters(tree)
        return _compressed([line for line in _lines(content) if known.issuperset(line.partition("\t")[0])])
    if name in FILES[:2]:
        return b"".join(line for line in content.splitlines(True) if json.loads(line)["title_id"] in _first_titles(tree))
    if name == STANCES:
        lines = _lines(content)
        half = len(lines) // 2
        return _compressed([*lines[:MOST_STANCES], *lines[half : half + MOST_STANCES]])
    return content


@cache
def _first_titles(tree: Path) -> dict[str, Any]:
    rows = (tree / FILES[0]).read_text("utf-8").splitlines()[:TITLES]
    return {title["title_id"]: title for title in map(json.loads, rows)}


def _characters(tree: Path) -> frozenset[str]:
    """Those of the Japanese names of the demo's first titles."""
    return frozenset(character for title in _first_titles(tree).values() for character in title["title"].get("ja") or "")


def _lines(content: bytes) -> list[str]:
    return gzip.decompress(content).decode().split("\n")


def _compressed(lines: list[str]) -> bytes:
    return gzip.compress("\n".join(lines).encode(), mtime=0)
