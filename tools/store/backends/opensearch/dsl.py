"""Builds queries, filters, sorts and k-NN searches in OpenSearch's query DSL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tools.store.backends.opensearch.definition import FOUND, ID, Json
from tools.store.identifiers import CHILDREN
from tools.store.models import CatalogQuery, Conditions, Ordering, Range
from tools.store.search.columns import Floats
from tools.store.search.conditions.check import Criterion, NoneOf, OneOf, Within, criteria, numbers_of
from tools.store.search.titles.document import AskedName

NOTHING: Json = {"match_none": {}}
BY_FAME: list[Json] = [{"rank": "asc"}, {"prior": "desc"}, {"place": "asc"}]
BEST_KNOWN_FIRST: list[Json] = [{"_score": "desc"}, *BY_FAME]


def search(query: Json, filters: Sequence[Json], size: int, **more: Any) -> Json:
    """Returns a search for the best `size` hits of `query` that pass all `filters`. Hits have their ids only."""
    return {
        "query": {"bool": {"must": [query], "filter": list(filters)}},
        "size": size,
        "track_total_hits": False,
        **columns(ID),
        **more,
    }


def columns(*names: str) -> Json:
    """Returns the parameters of a search that return only these columns (doc values) of each hit."""
    return {"stored_fields": "_none_", "docvalue_fields": list(names)}


def column(hit: Mapping[str, Any], name: str) -> str:
    """Returns the value of a hit's column. Raises LookupError or TypeError if the hit lacks it."""
    return str(hit["fields"][name][0])


def term(field: str, value: str) -> Json:
    return {"term": {field: {"value": value}}}


def terms(field: str, values: Iterable[str]) -> Json:
    return {"terms": {field: list(values)}}


def prefix(field: str, value: str) -> Json:
    return {"prefix": {field: {"value": value}}}


def either(queries: list[Json]) -> Json:
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def constant(query: Json, score: float) -> Json:
    return {"constant_score": {"filter": query, "boost": score}}


def match_nested(path: str, query: Json) -> Json:
    """Wraps a query of the nested objects at `path`. A title scores as its best nested object."""
    return {"nested": {"path": path, "query": query, "score_mode": "max"}}


def filter_queries(conditions: Conditions) -> list[Json]:
    """Returns the queries of all conditions; a title has to match each of them."""
    asked = [query for each in criteria(conditions) for query in _criterion(each)]
    return [*asked, *_sale(conditions), *_authors(conditions)]


def sold_as(asked: Conditions) -> Json:
    """Returns a query for the nested sale on the conditions' day and in their format, or in the title's usual format if the
    conditions state no format."""
    sale = {"term": {"sales.usual": True}} if asked.format is None else term("sales.format", asked.format)
    return {"bool": {"filter": [sale, {"terms": {"sales.days": list(numbers_of(asked.day))}}]}}


def author_query(asked: str) -> Json:
    """Returns a query for titles by an author of this name, by the rule of `AskedName.fits`; it matches nothing for an empty
    name."""
    name = AskedName(asked)
    if not name.words:
        return NOTHING
    parts = [
        either([term("people.parts", part), *begins_or_ends(part)])
        if kanji and len(part) >= 2
        else term("people.parts", part)
        for part, kanji in name.parts
    ]
    return match_nested("people", either([term("people.spellings", name.key), {"bool": {"filter": parts}}]))


def begins_or_ends(part: str) -> list[Json]:
    return [prefix("people.spellings", part), prefix("people.turned", part[::-1])]


def _criterion(asked: Criterion) -> Iterator[Json]:
    field = {"year": "start_year"}.get(asked.field, asked.field)
    if isinstance(asked, Within):
        yield _match_range(field, asked.bounds)
        return
    there = terms(field, asked.values)
    if isinstance(asked, NoneOf) and not asked.may_be_unknown:
        yield {"exists": {"field": field}}
    yield there if isinstance(asked, OneOf) else _none_of(there)


def _sale(asked: Conditions) -> Iterator[Json]:
    prices = {"sales.price": asked.price, "sales.series_price": asked.series_price}
    told = [_match_range(field, bounds) for field, bounds in prices.items() if bounds]
    if asked.in_stock or asked.all_volumes:
        told.append({"term": {"sales.stocked": True}})
    if told or asked.format is not None:
        yield match_nested("sales", {"bool": {"filter": [sold_as(asked), *told]}})


def _authors(asked: Conditions) -> Iterator[Json]:
    if asked.author is not None:
        yield author_query(asked.author)
    if asked.without_authors:
        yield match_nested("people", {"match_all": {}})
        yield _none_of(*map(author_query, asked.without_authors))


def _match_range(field: str, bounds: Range) -> Json:
    ends = {"gte": bounds.least, "lte": bounds.most}
    return {"range": {field: {name: end for name, end in ends.items() if end is not None}}}


def _none_of(*queries: Json) -> Json:
    return {"bool": {"must_not": list(queries)}}


_COLUMNS = {
    Ordering.RATING: ("weighted_rating", "desc"),
    Ordering.NEWEST: ("start_year", "desc"),
    Ordering.SHORTEST: ("length", "asc"),
    Ordering.PRICE: ("sales.price", "asc"),
}
_DEEPEST = 10_000
"""Most hits, counted from the first, that an index returns in an order."""


def frequencies(terms: Sequence[str]) -> Json:
    """Returns a search whose aggregation `df` counts the titles with each term, in buckets named by the term's position."""
    asked = {str(i): term("prose", each) for i, each in enumerate(terms)}
    return {"size": 0, "track_total_hits": False, "aggs": {"df": {"filters": {"filters": asked}}}}


def order_by(ordering: Ordering | None, asked: Conditions) -> list[Json]:
    """Returns a sort equivalent to `tools.store.search.ranking.candidates.in_order`: unknown values last, prices in the
    conditions' format and on their day. None sorts by popularity."""
    column_of = None if ordering is None else _COLUMNS.get(ordering)
    if column_of is None:
        return BY_FAME
    field, direction = column_of
    of_sale = {"nested": {"path": "sales", "filter": sold_as(asked)}} if ordering is Ordering.PRICE else {}
    return [{field: {"order": direction, "missing": "_last", **of_sale}}, *BY_FAME]


def best_known(asked: CatalogQuery, ordering: Ordering | None) -> Json:
    """Returns a search for a page of the titles that satisfy the conditions, and for their total number. Sorts by
    `ordering`; None sorts by popularity, titles for children first if the conditions are `for_children`."""
    conditions, offset = asked.conditions, min(asked.offset, _DEEPEST)
    size = min(asked.limit, _DEEPEST - offset)
    sort = order_by(ordering, conditions)
    query: Json = {"match_all": {}}
    if conditions.for_children and ordering is None:
        query = {"bool": {"must": constant(query, 0.0), "should": [constant(term("genre", CHILDREN), 1.0)]}}
        sort = [{"_score": {"order": "desc"}}, *sort]
    body = search(query, filter_queries(conditions), size, sort=sort)
    return {**body, "from": offset, "track_total_hits": True, **columns("packed")}


def with_ids(title_ids: Sequence[str], names: Sequence[str] = FOUND) -> Json:
    return {**search({"terms": {ID: list(title_ids)}}, [], max(1, len(title_ids))), **columns(*names)}


def by_authors_of(spellings: Sequence[str], allowed: Sequence[Json]) -> Json:
    query = match_nested("people", {"terms": {"people.spellings": list(spellings)}})
    return search(query, allowed, 160, sort=BY_FAME)


def nearest(vector: Floats, filters: Sequence[Json], size: int) -> Json:
    return search(_senses(vector, filters, size), [], size)


def sense_of(vector: Floats, title_ids: Sequence[str]) -> Json:
    """Returns a k-NN search that scores each of these titles by its nearest vector. Its k allows for 16 vectors a title,
    10,000 at most."""
    filters = [{"terms": {ID: list(title_ids)}}]
    return search(_senses(vector, filters, min(10_000, 16 * len(title_ids))), [], len(title_ids))


def _senses(vector: Floats, filters: Sequence[Json], k: int) -> Json:
    asked: Mapping[str, Any] = {"vector": vector.astype(np.float64).round(6).tolist(), "k": k}
    among = {"filter": {"bool": {"filter": list(filters)}}} if filters else {}
    return match_nested("senses", {"knn": {"senses.vector": {**asked, **among}}})


def cosine_of(score: float) -> float:
    """Returns the inner product x behind a k-NN score, which is 1 + x for x ≥ 0, else 1 / (1 − x)."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / max(score, 1e-9)
