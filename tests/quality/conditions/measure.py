"""Measuring what the judged queries with conditions get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.quality.conditions.asking import Answer, Place, Shop, open_shop
from tests.quality.conditions.facts import Facts
from tests.quality.conditions.judge import Judge, fitting
from tests.quality.conditions.score import DEPTH, Shown, reciprocal_rank, satisfied
from tests.quality.conditions.wanted import NAMES, Query
from tools.store.records.catalog_file import load


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one query: its score, how many titles of the catalogue are right answers, and how many of the first five are known
    to be what it excludes."""

    query: Query
    score: float
    fits: int
    excluded: int
    answer: Answer


async def measure(place: Place, queries: Iterable[Query], tool: str) -> list[Measured]:
    """Asks `tool` ("search" or "recommend") each query that can be judged over this catalogue."""
    titles = {title.title_id: Facts.of(title) for title, _ in load(place.file)}
    right = [(query, fitting(titles.values(), query.where)) for query in queries if judged_by(query, tool)]
    async with open_shop(place, tool) as shop:
        await shop.answer("manga")  # the first call pays for what is loaded
        return [await _one(shop, query, fits, titles) for query, fits in right if fits or query.kind != NAMES]


def judged_by(query: Query, tool: str) -> bool:
    """A title that is named is what a search should find, and what a recommendation should leave out."""
    return tool == "search" or query.kind != NAMES


async def _one(shop: Shop, query: Query, fits: frozenset[str], titles: Mapping[str, Facts]) -> Measured:
    answer = await shop.answer(query.text)
    judge = Judge(query.where)
    excluded = sum(judge.excluded(titles[each]) for each in answer.title_ids[:DEPTH])
    return Measured(query, score(query, answer, fits, excluded), len(fits), excluded, answer)


def score(query: Query, answer: Answer, fits: frozenset[str], excluded: int) -> float:
    """0 to 1, whatever the kind of query. To read a condition from plain words is a mistake of its own."""
    if query.kind == NAMES:
        return reciprocal_rank(answer.title_ids[:DEPTH], fits)
    said = " ".join(answer.understood).casefold()
    if any(word in said for word in query.where.plain):
        return 0.0
    return satisfied(Shown(answer.title_ids, answer.relaxed, excluded), fits)


def percentile(results: Sequence[Measured], share: float) -> float:
    """Milliseconds that `share` of the calls took at most."""
    times = sorted(result.answer.milliseconds for result in results)
    return times[min(len(times) - 1, int(share * len(times)))] if times else 0.0
