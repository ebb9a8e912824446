"""Titles that may be to a reader's taste: recalled by the cluster, about in the order that the rule will give them here."""

from __future__ import annotations

from collections.abc import Mapping

from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.queries.conditions import filter_queries
from tools.store.backends.opensearch.queries.dsl import Json, constant, either, nested, search, term
from tools.store.models import ReaderQuery
from tools.store.search.taste.profile import Profile
from tools.store.search.taste.weights import TasteWeights

RECALL = 300
_MOST_TAGS, _MOST_VALUES = 100, 200
_ALL: Json = {"match_all": {}}


def to_taste(query: ReaderQuery, profile: Profile, weights: TasteWeights) -> Json:
    """The search for titles that have something of what is liked, of what was asked for, and of fame: the sum of the first
    two times the square of the last."""
    filters = [*filter_queries(query.conditions), *_asked(query)]
    liked = [constant(_ALL, weights.unfamiliar), *_liked(profile, weights), *_wanted(query)]
    fame = {"field_value_factor": {"field": "prior", "modifier": "square", "missing": 0.0}}
    famed = {"function_score": {"query": either(liked), "functions": [fame], "boost_mode": "multiply"}}
    body = search(famed, filters, RECALL, sort=[{"_score": "desc"}, {"place": "asc"}])
    body["query"]["bool"]["must_not"] = [{"terms": {ID: list(query.known)}}] if query.known else []
    return body


def _asked(query: ReaderQuery) -> list[Json]:
    """What makes a title an answer at all."""
    if query.fits is not None:
        return [{"terms": {ID: list(query.fits)}}]
    asked = [{"terms": {"tags": sorted({tag for group in query.wanted for tag in group})}}] if query.wanted else []
    return [*asked, *([{"terms": {"tags": list(query.mood)}}] if query.mood else [])]


def _wanted(query: ReaderQuery) -> list[Json]:
    groups = [{"terms": {"tags": list(group)}} for group in query.wanted]
    return [constant(group, 1.0) for group in [*groups, *(term("tags", tag) for tag in query.mood)]]


def _liked(profile: Profile, weights: TasteWeights) -> list[Json]:
    tags = {tag: weights.tags * share for tag, share in _heaviest(profile.tags, _MOST_TAGS).items()}
    authors = {name: weights.author * share for name, share in _heaviest(profile.authors, _MOST_VALUES).items()}
    genres = {name: weights.readership * share for name, share in profile.readerships.items()}
    magazines = {name: weights.magazine * share**0.5 for name, share in _heaviest(profile.magazines, _MOST_VALUES).items()}
    return [
        *(constant(term("tags", tag), worth) for tag, worth in tags.items() if worth > 0),
        *(constant(nested("people", term("people.name", name)), worth) for name, worth in authors.items()),
        *(constant(term("genre", name), worth) for name, worth in genres.items()),
        *(constant(term("magazine", name), worth) for name, worth in magazines.items()),
    ]


def _heaviest(shares: Mapping[str, float], most: int) -> dict[str, float]:
    return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name])[:most]}
