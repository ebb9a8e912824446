"""The search for what goes by exactly a name (tools.store.search.titles.called): one for many names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.queries.dsl import BY_FAME, Json, column, columns, either, nested, prefix, term
from tools.store.models import Called
from tools.store.search.titles.called import MOST_TITLES, ExactName

_WHOLE, _MAIN, _AUTHOR, _FAMILY = "whole", "main", "author", "family"


def called(names: Mapping[str, ExactName]) -> Json:
    """Aggregations: a bucket for each name and way to be called so, with the best known of the titles in it."""
    asked = {f"{way} {place}": query for place, name in enumerate(names.values()) for way, query in _ways(name).items()}
    titles = {"top_hits": {"size": MOST_TITLES, "sort": BY_FAME, **columns(ID)}}
    buckets = {"filters": {"filters": asked}, "aggs": {"titles": titles}}
    query = {"bool": {"filter": [either(list(asked.values()))]}}
    return {"query": query, "size": 0, "track_total_hits": False, "aggs": {"names": buckets}}


def called_from(answer: Mapping[str, Any], names: Mapping[str, ExactName]) -> dict[str, Called]:
    """What goes by each of them, all of them. Raises LookupError and TypeError for an answer that is none."""
    buckets = answer["aggregations"]["names"]["buckets"]
    return {name: _called(buckets, place) for place, name in enumerate(names)}


def index_of(answer: Mapping[str, Any]) -> str | None:
    """Which index has answered, where it found anything."""
    buckets = answer["aggregations"]["names"]["buckets"].values()
    return next((str(hit["_index"]) for each in buckets for hit in each["titles"]["hits"]["hits"]), None)


def _ways(name: ExactName) -> dict[str, Json]:
    ways = {_WHOLE: _name(name.key, False), _AUTHOR: nested("people", term("people.spellings", name.key))}
    if name.may_precede_subtitle:
        ways[_MAIN] = _name(name.key, True)
    if name.may_be_written_family:
        ways[_FAMILY] = nested("people", prefix("people.spellings", name.key))
    elif name.may_be_family:
        ways[_FAMILY] = nested("people", term("people.family", name.key))
    return ways


def _name(key: str, main: bool) -> Json:
    return nested("names", {"bool": {"filter": [term("names.key", key), {"term": {"names.main": main}}]}})


def _called(buckets: Mapping[str, Any], place: int) -> Called:
    def found(*ways: str) -> Mapping[str, Any]:
        """The first way by which anything is called so."""
        every = (buckets.get(f"{way} {place}") for way in ways)
        return next((each for each in every if each is not None and each["doc_count"]), {})

    titles = found(_WHOLE, _MAIN)
    hits = titles["titles"]["hits"]["hits"] if titles else ()
    return Called(tuple(column(hit, ID) for hit in hits), int(found(_AUTHOR, _FAMILY).get("doc_count", 0)))
