"""Measuring a search: judged queries, nDCG@10 (linear gain, as trec_eval), and tables by type of query."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.models import CatalogQuery, Conditions
from tools.store.ports import CatalogPort

DEPTH = 10
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A query and its grades (1 to 3) by title_id. No grades: nothing fits, and nothing should be found."""

    qid: str
    query: str
    lang: str
    type: str
    filters: Mapping[str, Any]
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one query: nDCG@10 (for an absent one 1 if nothing was found, else 0) and the milliseconds it took."""

    judged: Judged
    score: float
    milliseconds: float
    degraded: tuple[str, ...]


def load_judged(path: Path, ids: Mapping[str, str] | None = None) -> list[Judged]:
    """The queries of a JSONL file. `ids` maps the names that `relevant` uses to title_ids; None when it uses ids."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Judged(
            row["qid"],
            row["query"],
            row["lang"],
            row["type"],
            row["filters"],
            {(name if ids is None else ids[name]): grade for name, grade in row["relevant"].items()},
        )
        for row in rows
    ]


def conditions_of(filters: Mapping[str, Any]) -> Conditions:
    """`filters` as a set has them: genre, author, min_rating."""
    genre = filters.get("genre")
    return Conditions((genre,) if genre else (), filters.get("author"), filters.get("min_rating"))


def ndcg(found: Sequence[str], grades: Mapping[str, int], depth: int = DEPTH) -> float:
    """Discounted cumulative gain of `found` by that of the best order (Järvelin & Kekäläinen 2002)."""
    best = _gain(sorted(grades.values(), reverse=True)[:depth])
    return _gain([grades.get(i, 0) for i in found[:depth]]) / best if best else float(not found)


def _gain(grades: Iterable[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


async def measure(catalog: CatalogPort, queries: Iterable[Judged]) -> list[Measured]:
    return [await _measure_one(catalog, judged) for judged in queries]


async def _measure_one(catalog: CatalogPort, judged: Judged) -> Measured:
    start = time.perf_counter()
    page = await catalog.search(CatalogQuery(judged.query, conditions_of(judged.filters), DEPTH), Deadline.after(PATIENCE_S))
    took = (time.perf_counter() - start) * 1000
    return Measured(judged, ndcg([t.title_id for t in page.titles], judged.grades), took, page.degraded)


def by_type(results: Iterable[Measured], *, split: bool = False) -> dict[str, list[float]]:
    """Scores by type; with `split` also by the language of the query (Japanese script or Latin)."""
    scores: dict[str, list[float]] = defaultdict(list)
    for result in results:
        language = "Japanese" if result.judged.lang == "ja" else "Latin"
        scores[f"{result.judged.type}, {language}" if split else result.judged.type].append(result.score)
    return dict(scores)


def macro(results: Iterable[Measured]) -> float:
    """The mean over types of their mean nDCG@10; absent queries, which have no nDCG, are left out."""
    means = [_mean(scores) for kind, scores in by_type(results).items() if kind != "absent"]
    return _mean(means)


def percentile(results: Sequence[Measured], share: float) -> float:
    """Milliseconds that `share` of the queries took at most."""
    times = sorted(r.milliseconds for r in results)
    return times[min(len(times) - 1, int(share * len(times)))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(name: str, results: Sequence[Measured]) -> str:
    """A Markdown table, readable as text."""
    rows = [(kind, len(scores), _mean(scores)) for kind, scores in sorted(by_type(results, split=True).items())]
    lines = [f"### {name}", "", "| type of query | queries | nDCG@10 |", "| --- | ---: | ---: |"]
    lines += [f"| {kind} | {count} | {score:.3f} |" for kind, count, score in rows]
    lines.append(f"| **macro** (types, absent left out) | {len(results)} | **{macro(results):.3f}** |")
    times = ", ".join(f"p{int(share * 100)} {percentile(results, share):.1f} ms" for share in (0.5, 0.95))
    return "\n".join([*lines, "", f"A search took {times}."])
