"""The conditions of a search as queries: together they let through exactly what `tools.store.search.conditions` does."""

from __future__ import annotations

from tools.store.backends.opensearch.queries.dsl import NOTHING, Json, either, nested, prefix, term
from tools.store.models import Filters
from tools.store.search.titles.people import AskedName


def filter_queries(filters: Filters) -> list[Json]:
    """One query for each condition; all have to match."""
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


def begins_or_ends(part: str) -> list[Json]:
    """A written name begins or ends with `part`."""
    return [prefix("people.spellings", part), prefix("people.turned", part[::-1])]


def _part(part: str, kanji: bool) -> Json:
    is_part = term("people.parts", part)
    return either([is_part, *begins_or_ends(part)]) if kanji and len(part) >= 2 else is_part
