"""Pieces of searches. All are terms, prefixes and ranges: nothing that a caller typed is ever parsed by the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools.store.backends.opensearch.index.definition import ID

Json = dict[str, Any]
NOTHING: Json = {"match_none": {}}
BY_FAME: list[Json] = [{"prior": "desc"}, {"rank": "asc"}, {"place": "asc"}]
BEST_KNOWN_FIRST: list[Json] = [{"_score": "desc"}, *BY_FAME]


def search(query: Json, filters: Sequence[Json], size: int, **more: Any) -> Json:
    """The best `size` hits of `query` among what passes all `filters`, by their ids alone."""
    return {
        "query": {"bool": {"must": [query], "filter": list(filters)}},
        "size": size,
        "track_total_hits": False,
        **columns(ID),
        **more,
    }


def columns(*names: str) -> Json:
    """These columns of each hit, and nothing of the document."""
    return {"stored_fields": "_none_", "docvalue_fields": list(names)}


def column(hit: Mapping[str, Any], name: str) -> str:
    """Raises LookupError and TypeError for a hit that is none of ours."""
    return str(hit["fields"][name][0])


def term(field: str, value: str) -> Json:
    return {"term": {field: {"value": value}}}


def terms(field: str, values: Iterable[str]) -> Json:
    """One of the values."""
    return {"terms": {field: list(values)}}


def prefix(field: str, value: str) -> Json:
    return {"prefix": {field: {"value": value}}}


def either(queries: list[Json]) -> Json:
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def constant(query: Json, score: float) -> Json:
    return {"constant_score": {"filter": query, "boost": score}}


def nested(path: str, query: Json) -> Json:
    """The best part of a title decides."""
    return {"nested": {"path": path, "query": query, "score_mode": "max"}}
