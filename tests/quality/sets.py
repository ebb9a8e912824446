"""The two judged sets: one over the demo catalogue, in this repository, and a larger one that is not (it has no licence)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.quality.measure import Judged, load_judged

ROOT = Path(__file__).resolve().parents[2]
FOLDER_VARIABLE = "MANGA_EVALUATION_DIR"


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """`bar` is the macro nDCG@10 that must be reached."""

    name: str
    catalog: Path
    queries: Callable[[], list[Judged]]
    bar: float


def evaluation_folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT.parent / "shared" / "data" / "evaluation")


def evaluation_set() -> JudgedSet | None:
    """The large set, or None where its folder is not there."""
    folder = evaluation_folder()
    catalog, queries = folder / "catalog.jsonl.gz", folder / "queries.jsonl"
    if not (catalog.is_file() and queries.is_file()):
        return None
    return JudgedSet("evaluation set, 18,804 titles", catalog, lambda: load_judged(queries), 0.93)


def demo_set() -> JudgedSet:
    catalog = ROOT / "infra" / "demo" / "catalog.jsonl"
    queries = Path(__file__).with_name("demo_queries.jsonl")
    return JudgedSet("demo catalogue", catalog, lambda: load_judged(queries, ids_by_romaji(catalog)), 0.97)


def ids_by_romaji(catalog: Path) -> dict[str, str]:
    records = (json.loads(line) for line in catalog.read_text(encoding="utf-8").splitlines() if line.strip())
    return {record["title"]["romaji"]: record["title_id"] for record in records}


def missing_message() -> str:
    return f"the evaluation set is not there (it is not part of the repository): set {FOLDER_VARIABLE} to its folder"
