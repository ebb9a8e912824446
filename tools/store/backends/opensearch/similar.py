"""Titles like one title: by tags, genre, fame and, where there are vectors, by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.store.backends.opensearch.alike import alike, likenesses
from tools.store.backends.opensearch.filters import filter_queries
from tools.store.backends.opensearch.queries import RECALL, Json, nearest
from tools.store.backends.opensearch.recalled import Anchor, Candidates, Judged
from tools.store.backends.opensearch.statistics import Statistics
from tools.store.models import Facets, Filters

_RECALL = 2 * RECALL


class Similar:
    """The search from one title to the ones like it."""

    def __init__(self, anchor: Anchor, statistics: Statistics, filters: Filters) -> None:
        tags = dict.fromkeys(anchor.card.known.tags, 1.0)
        self._anchor, self._filters = anchor, filter_queries(filters)
        self._facets = Facets(tags, (), anchor.card.known.genre)
        self._masses = statistics.tag_masses(tags)

    def searches(self, sensed: bool) -> dict[str, Json]:
        """Nothing when the title has no tags: then nothing is like it."""
        by_tags = alike(self._masses, self._facets, self._filters, _RECALL)
        if by_tags is None:
            return {}
        searches = {"alike": by_tags}
        if sensed and self._anchor.direction is not None:
            sharing = {"terms": {"tags": sorted(self._masses)}}
            searches["near"] = nearest(self._anchor.direction, [*self._filters, sharing], _RECALL)
        return searches

    def judged(self, candidates: Candidates, answers: Mapping[str, Mapping[str, Any]]) -> Judged:
        """`candidates` are the titles that the answers to `searches` named."""
        if "near" in answers:
            candidates.take_senses(answers["near"])
        candidates.entries.pop(self._anchor.title_id, None)
        ids = candidates.ordered()
        cards = [candidates.entries[i].card for i in ids]
        scores = likenesses(cards, self._anchor.card, self._masses, _senses(candidates, ids))
        return Judged(ids, scores)


def _senses(candidates: Candidates, ids: list[str]) -> list[float] | None:
    """Of a title that is not among the nearest is known only that it is no nearer than the last of them."""
    senses = candidates.senses
    if senses is None:
        return None
    least = min(senses.values(), default=0.0) if len(senses) >= _RECALL else 0.0
    return [senses.get(i, least) for i in ids]
