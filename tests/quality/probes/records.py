"""A catalogue's records, and the same ones with some names in Japanese script taken away: what a catalogue may lack."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.quality.probes.folds import number
from tools.store.search.text.characters import has_cjk

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def is_hidden(name: str) -> bool:
    """Whether the Japanese spellings of this name are taken away: of every second one."""
    return number(f"hidden {name}") % 2 == 0


def without_hidden(record: Record) -> Record:
    """The record as a catalogue has it that knows half the names in Latin letters only."""
    authors = [
        {**author, "name_ja": None, "name_kana": None} if is_hidden(author["name"]) else author
        for author in record.get("authors", ())
    ]
    changed = {**record, "authors": authors}
    title = record["title"]
    if title.get("romaji") and is_hidden(title["romaji"]):
        changed["title"] = {**title, "ja": None, "kana": None}
        changed["alt_titles"] = [each for each in record.get("alt_titles", ()) if not has_cjk(each)]
    return changed


def write(records: list[Record], folder: Path) -> Path:
    """The records in a file named by what it holds."""
    content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    path = folder / f"probes-{sha256(content).hexdigest()[:12]}.jsonl"
    path.write_bytes(content)
    return path
