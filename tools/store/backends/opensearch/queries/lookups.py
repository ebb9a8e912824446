"""The searches that need no ranking: titles by their ids, by fame or another ordering, and how frequent terms are."""

from __future__ import annotations

from collections.abc import Sequence

from tools.store.backends.opensearch.index.definition import FOUND, ID
from tools.store.backends.opensearch.queries.conditions import filter_queries, sold_as
from tools.store.backends.opensearch.queries.dsl import BY_FAME, Json, columns, nested, search, term
from tools.store.models import CatalogQuery, Conditions, Ordering

_COLUMNS = {
    Ordering.RATING: ("weighted_rating", "desc"),
    Ordering.NEWEST: ("start_year", "desc"),
    Ordering.SHORTEST: ("length", "asc"),
    Ordering.PRICE: ("sales.price", "asc"),
}
_MOST_WORKS = 160
_DEEPEST = 10_000
"""Hits that an index gives in an order, and not further ones."""


def frequencies(terms: Sequence[str]) -> Json:
    """In how many titles each term is: an aggregation `df` with a bucket for each, named by its place."""
    asked = {str(i): term("prose", each) for i, each in enumerate(terms)}
    return {"size": 0, "track_total_hits": False, "aggs": {"df": {"filters": {"filters": asked}}}}


def by(ordering: Ordering | None, asked: Conditions) -> list[Json]:
    """As `tools.store.search.ranking.orderings.in_order` has it: what is not known of a title puts it last. Prices are those
    of a format on a day, as conditions say."""
    column_of = None if ordering is None else _COLUMNS.get(ordering)
    if column_of is None:
        return BY_FAME
    field, direction = column_of
    of_sale = {"nested": {"path": "sales", "filter": sold_as(asked)}} if ordering is Ordering.PRICE else {}
    return [{field: {"order": direction, "missing": "_last", **of_sale}}, *BY_FAME]


def best_known(asked: CatalogQuery, ordering: Ordering | None) -> Json:
    """The best known under the conditions, or the first by another ordering, and how many there are."""
    conditions, offset = asked.conditions, min(asked.offset, _DEEPEST)
    size = min(asked.limit, _DEEPEST - offset)
    body = search({"match_all": {}}, filter_queries(conditions), size, sort=by(ordering, conditions))
    return {**body, "from": offset, "track_total_hits": True, **columns("packed")}


def with_ids(title_ids: Sequence[str], names: Sequence[str] = FOUND) -> Json:
    """These columns of these titles: everything that is kept for hits, where not said otherwise."""
    return {**search({"terms": {ID: list(title_ids)}}, [], max(1, len(title_ids))), **columns(*names)}


def by_authors_of(spellings: Sequence[str], allowed: Sequence[Json]) -> Json:
    """All works of the authors with these spellings that pass `allowed`."""
    query = nested("people", {"terms": {"people.spellings": list(spellings)}})
    return search(query, allowed, _MOST_WORKS, sort=BY_FAME)
