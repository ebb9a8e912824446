"""Titles like one title: by tags, genre, fame and, where there are vectors, by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.conditions import filter_queries
from tools.store.backends.opensearch.queries.dsl import Json
from tools.store.backends.opensearch.queries.lexical import RECALL
from tools.store.backends.opensearch.queries.likeness import like_facets
from tools.store.backends.opensearch.queries.nearest import nearest
from tools.store.backends.opensearch.searching.candidates import Anchor, Recalled, RecalledTitles
from tools.store.backends.opensearch.searching.searches import AMONG_ALL
from tools.store.models import Conditions, Facets
from tools.store.search.arrays import Floats, Mask
from tools.store.search.likeness import likeness, likest
from tools.store.search.ranking.weights import Weights

_RECALL = 2 * RECALL


class Similar:
    """The search from one title to the ones like it."""

    def __init__(self, anchor: Anchor, statistics: Statistics, conditions: Conditions, weights: Weights) -> None:
        tags = dict.fromkeys(anchor.card.keys.tags, 1.0)
        self._anchor, self._filters, self._weights = anchor, filter_queries(conditions), weights
        self._facets = Facets(tags, (), anchor.card.keys.genre)
        self._shares = statistics.tag_shares(tags)

    def searches(self, sensed: bool) -> dict[str, Json]:
        """Nothing when the title has no tags: then nothing is like it."""
        searches = self._among(self._filters, sensed)
        if self._filters:
            # The best of all sets the floor for those that satisfy the conditions.
            searches |= {AMONG_ALL + name: body for name, body in self._among([], sensed).items()}
        return searches

    def _among(self, filters: Sequence[Json], sensed: bool) -> dict[str, Json]:
        by_tags = like_facets(self._shares, self._facets, filters, _RECALL, self._weights)
        if by_tags is None:
            return {}
        searches = {"alike": by_tags}
        if sensed and self._anchor.direction is not None:
            sharing = {"terms": {"tags": sorted(self._shares)}}
            searches["near"] = nearest(self._anchor.direction, [*filters, sharing], _RECALL)
        return searches

    def take(self, recalled: Recalled, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """What the answers to `searches` say besides naming titles; the title itself is not like it."""
        for name in ("near", AMONG_ALL + "near"):
            if name in answers:
                recalled.take_senses(answers[name])
        recalled.entries.pop(self._anchor.title_id, None)

    def scores(self, titles: RecalledTitles, senses: Mapping[str, float] | None, allowed: Mask) -> Floats:
        """How like the title each of the recalled ones is; 0 for those that are not half as like it as the best, and for
        those that are not `allowed`."""
        genre = self._facets.genre
        nobody, same = np.zeros(len(titles.ids), np.bool_), titles.of_genre(genre) if genre else np.bool_(False)
        alike = likeness(self._shared_tags(titles), nobody, nobody | same, titles.prior, self._weights)
        return likest(alike, None if senses is None else _meaning(senses, titles.ids), self._weights, allowed)

    def _shared_tags(self, titles: RecalledTitles) -> Floats:
        shared = [sum(self._shares.get(tag, 0.0) for tag in card.keys.tags) for card in titles.cards]
        return np.array(shared, np.float32)


def _meaning(senses: Mapping[str, float], ids: Sequence[str]) -> Floats:
    """Of a title that is not among the nearest is known only that it is no nearer than the last of them."""
    least = min(senses.values(), default=0.0) if len(senses) >= _RECALL else 0.0
    return np.array([senses.get(i, least) for i in ids], np.float32)
