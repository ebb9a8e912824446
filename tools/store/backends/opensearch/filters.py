"""The exact filters as queries, and once more over what comes back. Everything is a term or a range: nothing that a caller
typed is ever parsed by the cluster."""

from __future__ import annotations

from typing import Any

from tools.store.backends.opensearch.documents import Card
from tools.store.models import Filters
from tools.store.search.filters import Predicates
from tools.store.search.people import AskedName

Json = dict[str, Any]
NOTHING: Json = {"match_none": {}}


def filter_queries(filters: Filters) -> list[Json]:
    """Queries that together let through exactly what `tools.store.search.filters.satisfies` does."""
    queries: list[Json] = []
    if filters.genre is not None:
        queries.append(term("genre", filters.genre))
    if filters.min_rating is not None and filters.min_rating > 0:
        queries.append({"range": {"rating": {"gte": filters.min_rating}}})
    if filters.author is not None:
        queries.append(author_query(filters.author))
    return queries


def author_query(asked: str) -> Json:
    """One author of the title has the asked name, as `AskedName.fits` says."""
    name = AskedName(asked)
    if not name.words:
        return NOTHING
    parts = [_part(part, kanji) for part, kanji in name.parts]
    return nested("people", either([term("people.spellings", name.key), {"bool": {"filter": parts}}]))


def _part(part: str, kanji: bool) -> Json:
    is_part = term("people.parts", part)
    return either([is_part, *begins_or_ends(part)]) if kanji and len(part) >= 2 else is_part


def begins_or_ends(part: str) -> list[Json]:
    """A written name begins or ends with `part`."""
    return [prefix("people.spellings", part), prefix("people.turned", part[::-1])]


class Gate:
    """The same filters over a card."""

    def __init__(self, filters: Filters) -> None:
        self._predicates = Predicates(filters)

    def admits(self, card: Card) -> bool:
        return self._predicates.admit(card.known.genre, card.rating, card.known.authors)


def term(field: str, value: str) -> Json:
    return {"term": {field: {"value": value}}}


def prefix(field: str, value: str) -> Json:
    return {"prefix": {field: {"value": value}}}


def either(queries: list[Json]) -> Json:
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def constant(query: Json, score: float) -> Json:
    return {"constant_score": {"filter": query, "boost": score}}


def nested(path: str, query: Json) -> Json:
    """The best part of a title decides."""
    return {"nested": {"path": path, "query": query, "score_mode": "max"}}
