"""What is known of an index once and for all: it never changes, so its numbers are kept for as long as it serves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from session.resilience.lru import Lru
from tools.store.backends.opensearch.index.identity import Identity
from tools.store.search.arrays import Floats
from tools.store.search.likeness import tag_shares

Json = dict[str, Any]
_K1, _B = 1.2, 0.25
_KEPT_TERMS = 20_000
_MOST_TAGS = 5_000
NUMBERS: Json = {
    "size": 0,
    "track_total_hits": True,
    "aggs": {"length": {"avg": {"field": "prose_length"}}, "tags": {"terms": {"field": "tags", "size": _MOST_TAGS}}},
}
"""The search whose answer `Statistics` is made of."""


class Statistics:
    """The numbers that weigh words and tags, the same that the embedded catalogue computes from all its titles.

    BM25 (Robertson & Zaragoza 2009) with k1 = 1.2, b = 0.25. Terms' document frequencies are learnt as queries ask for them.
    """

    def __init__(self, name: str, identity: Identity, answer: Mapping[str, Any]) -> None:
        """`answer` is that to `NUMBERS`. Raises LookupError and TypeError when it is none."""
        self.name, self.identity = name, identity
        self.titles = int(answer["hits"]["total"]["value"])
        self._length = max(1.0, float(answer["aggregations"]["length"]["value"] or 1.0))
        self.tags = {str(b["key"]): int(b["doc_count"]) for b in answer["aggregations"]["tags"]["buckets"]}
        self._found: Lru[str, int] = Lru(_KEPT_TERMS)

    def unknown(self, terms: Iterable[str]) -> list[str]:
        """Those of `terms` whose frequency has to be asked for."""
        return [term for term in terms if term not in self._found]

    def learn(self, terms: Sequence[str], answer: Mapping[str, Any]) -> None:
        """Takes the answer to `queries.frequencies(terms)`."""
        buckets = answer["aggregations"]["df"]["buckets"]
        for i, term in enumerate(terms):
            self._found.put(term, int(buckets[str(i)]["doc_count"]))

    def covered(self, terms: Sequence[str], documents: Sequence[Mapping[str, float]]) -> Floats:
        """For each document the share of the terms' idf mass that it covers: BM25 by what weight 1 in all would give."""
        if not terms:
            return np.zeros(len(documents), np.float32)
        weights = [(term, self._idf(term)) for term in terms]
        most = max(1e-6, sum(idf for _, idf in weights))
        return np.array([self._score(weights, document) / most for document in documents], np.float32)

    def _score(self, weights: Sequence[tuple[str, float]], document: Mapping[str, float]) -> float:
        held = [(idf, frequency) for term, idf in weights if (frequency := document.get(term))]
        if not held:
            return 0.0
        norm = _K1 * (1.0 - _B + _B * sum(document.values()) / self._length)
        return sum(idf * frequency * (_K1 + 1.0) / (frequency + norm) for idf, frequency in held)

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        """The share of the terms' idf mass that is in terms any title has; 0 when nothing is asked."""
        asked = sum(map(self._idf, terms))
        return sum(self._idf(term) for term in terms if self._found.peek(term)) / asked if asked else 0.0

    def tag_shares(self, wanted: Mapping[str, float]) -> dict[str, float]:
        """What sharing each of the wanted tags is worth (`search.likeness.tag_shares`)."""
        return tag_shares(wanted, self.tags, self.titles)

    def _idf(self, term: str) -> float:
        found = self._found.use(term) or 0
        return math.log(1.0 + (self.titles - found + 0.5) / (found + 0.5))
