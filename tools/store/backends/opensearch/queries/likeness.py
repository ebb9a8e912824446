"""Titles like what a reader likes: ranked by the cluster, by the weights of `tools.store.search.likeness`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.store.backends.opensearch.queries.dsl import Json, constant, either, nested, search, term
from tools.store.models import Facets
from tools.store.search.ranking.weights import Weights

_MOST_TAGS, _MOST_AUTHORS = 200, 500


def like_facets(
    shares: Mapping[str, float], facets: Facets, filters: Sequence[Json], size: int, weights: Weights
) -> Json | None:
    """The search for the best matches; None when nothing can match. `shares` are those of the tags (`tag_shares`)."""
    heaviest = sorted(shares, key=lambda tag: -shares[tag])[:_MOST_TAGS]
    shared = [constant(term("tags", tag), shares[tag]) for tag in heaviest]
    if facets.authors:
        theirs = {"terms": {"people.name": list(facets.authors)[:_MOST_AUTHORS]}}
        shared.append(constant(nested("people", theirs), weights.same_author))
    if not shared:
        return None
    more = [constant(term("genre", facets.genre), weights.same_genre)] if facets.genre else []
    fame = {"field_value_factor": {"field": "prior", "factor": weights.alike_prior, "missing": 0.0}}
    query = {"bool": {"must": [either(shared)], "should": more}}
    famed = {"function_score": {"query": query, "functions": [fame], "boost_mode": "sum"}}
    return search(famed, filters, size, sort=[{"_score": "desc"}, {"place": "asc"}])
