"""The searches that need no ranking: titles by their ids, by fame or another ordering, and how frequent terms are."""

from __future__ import annotations

from collections.abc import Sequence

from tools.store.backends.opensearch.index.definition import FOUND, ID
from tools.store.backends.opensearch.queries.conditions import filter_queries
from tools.store.backends.opensearch.queries.dsl import BY_FAME, Json, columns, nested, search, term
from tools.store.models import Filters, Ordering

_COLUMNS = {Ordering.RATING: "weighted_rating", Ordering.NEWEST: "start_year"}
_MOST_WORKS = 160


def frequencies(terms: Sequence[str]) -> Json:
    """In how many titles each term is: an aggregation `df` with a bucket for each, named by its place."""
    asked = {str(i): term("prose", each) for i, each in enumerate(terms)}
    return {"size": 0, "track_total_hits": False, "aggs": {"df": {"filters": {"filters": asked}}}}


def by(ordering: Ordering | None) -> list[Json]:
    """As `tools.store.search.ranking.orderings.in_order` has it: what is not known of a title puts it last."""
    column_of = None if ordering is None else _COLUMNS.get(ordering)
    return BY_FAME if column_of is None else [{column_of: {"order": "desc", "missing": "_last"}}, *BY_FAME]


def best_known(filters: Filters, limit: int, ordering: Ordering | None = None) -> Json:
    """The best known under the filters, or the first by another ordering, and how many there are."""
    body = search({"match_all": {}}, filter_queries(filters), limit, sort=by(ordering))
    return {**body, "track_total_hits": True, **columns("packed")}


def with_ids(title_ids: Sequence[str], names: Sequence[str] = FOUND) -> Json:
    """These columns of these titles: everything that is kept for hits, where not said otherwise."""
    return {**search({"terms": {ID: list(title_ids)}}, [], max(1, len(title_ids))), **columns(*names)}


def by_authors_of(spellings: Sequence[str], filters: Filters) -> Json:
    """All works of the authors with these spellings."""
    query = nested("people", {"terms": {"people.spellings": list(spellings)}})
    return search(query, filter_queries(filters), _MOST_WORKS, sort=BY_FAME)
