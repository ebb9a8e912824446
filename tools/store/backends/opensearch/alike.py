"""Titles like what a reader likes, and titles like one title: tags by how rare they are, authors, genre, fame.

The weights are those of the embedded catalogue, so that both recommend the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.store.backends.opensearch.documents import Card
from tools.store.backends.opensearch.filters import constant, either, nested, term
from tools.store.backends.opensearch.queries import search
from tools.store.models import Facets
from tools.store.search.evidence import Floats

Json = dict[str, Any]
_AUTHOR, _GENRE, _FAME, _SENSE, _SIMILAR_FLOOR = 0.35, 0.1, 0.2, 0.5, 0.5
_MOST_TAGS, _MOST_AUTHORS = 200, 500


def alike(masses: Mapping[str, float], facets: Facets, filters: Sequence[Json], size: int) -> Json | None:
    """The search for the best matches, ranked by the cluster; None when nothing can match.

    `masses` are the shares of the tags (Statistics.tag_masses).
    """
    heaviest = sorted(masses, key=lambda tag: -masses[tag])[:_MOST_TAGS]
    shared = [constant(term("tags", tag), masses[tag]) for tag in heaviest]
    if facets.authors:
        theirs = {"terms": {"people.name": list(facets.authors)[:_MOST_AUTHORS]}}
        shared.append(constant(nested("people", theirs), _AUTHOR))
    if not shared:
        return None
    more = [constant(term("genre", facets.genre), _GENRE)] if facets.genre else []
    fame = {"field_value_factor": {"field": "prior", "factor": _FAME, "missing": 0.0}}
    query = {"bool": {"must": [either(shared)], "should": more}}
    famed = {"function_score": {"query": query, "functions": [fame], "boost_mode": "sum"}}
    return search(famed, filters, size, sort=[{"_score": "desc"}, {"place": "asc"}])


def likenesses(cards: Sequence[Card], anchor: Card, masses: Mapping[str, float], senses: Sequence[float] | None) -> Floats:
    """For each card how like the anchor its title is; 0 below half of the best. `senses` are cosines, None without any."""
    scores = np.array([_shared(card, anchor, masses) for card in cards], np.float32)
    if senses is not None:
        near = np.float32(_SENSE) * np.maximum(np.array(senses, np.float32), np.float32(0.0))
        scores = np.where(scores > 0, scores + near, np.float32(0.0))
    floor = np.float32(_SIMILAR_FLOOR) * scores.max(initial=0.0)
    return np.where(scores >= floor, scores, np.float32(0.0)).astype(np.float32)


def _shared(card: Card, anchor: Card, masses: Mapping[str, float]) -> float:
    mass = sum(masses.get(tag, 0.0) for tag in card.known.tags)
    same_genre = anchor.known.genre is not None and card.known.genre == anchor.known.genre
    return mass + _FAME * card.known.prior + _GENRE * same_genre if mass > 0 else 0.0
