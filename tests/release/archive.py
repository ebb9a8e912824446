"""The code of a release in one small file of the repository: a fresh clone may be shallow and without tags.

Large word lists are cut to the words of the demo catalogue, and pictures of previews are left out: beside another version
it matters that what is stored and said is understood, not how well is searched.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "tests" / "release" / "last_release.tar.xz"
MOST_BYTES = 700_000
PARTS = ("server", "session", "tools", "pyproject.toml")
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
    if name == STANCES:
        lines = _lines(content)
        half = len(lines) // 2
        return _compressed([*lines[:MOST_STANCES], *lines[half : half + MOST_STANCES]])
    return content


def _characters(tree: Path) -> frozenset[str]:
    """Of the Japanese names of the demo's first titles."""
    rows = (tree / "infra" / "demo" / "catalog.jsonl").read_text("utf-8").splitlines()[:40]
    return frozenset(character for row in rows for character in (json.loads(row)["title"].get("ja") or ""))


def _lines(content: bytes) -> list[str]:
    return gzip.decompress(content).decode().split("\n")


def _compressed(lines: list[str]) -> bytes:
    return gzip.compress("\n".join(lines).encode(), mtime=0)
