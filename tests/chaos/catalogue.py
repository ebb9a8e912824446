"""What the store of the chaos sells: the demo's titles, which everybody asks for, and many that hardly anybody does."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.large_catalog import FULL, large_catalog

DEMO = Path(__file__).resolve().parents[2] / "infra" / "demo" / "catalog.jsonl"
UNPOPULAR = 1_800
"""Beside the demo's two hundred and sixty: far more than the 500 that the server keeps by their popularity."""
LAST_RANK = 100_000


def unpopular_id(number: int) -> str:
    """One of those that no server keeps; numbers that follow each other are other titles, for long."""
    return f"manga-9{number % UNPOPULAR:05}"


def write_to(folder: Path) -> Path:
    """The catalogue file. Says in its own length how many titles there are."""
    path = folder / "catalog.jsonl"
    lines = [line for line in DEMO.read_text("utf-8").splitlines() if line]
    for number, record in enumerate(large_catalog(FULL + UNPOPULAR)[FULL:]):
        unknown = {"title_id": unpopular_id(number), "popularity_rank": LAST_RANK + number, "rating_count": 1}
        lines.append(json.dumps(record | unknown, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def how_many() -> int:
    return UNPOPULAR + len([line for line in DEMO.read_text("utf-8").splitlines() if line])
