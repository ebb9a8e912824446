"""Where a story was described, the rest of its series follows it: the same world, and seldom a synopsis of its own."""

from __future__ import annotations

import numpy as np

from tools.store.search.arrays import Floats
from tools.store.search.ranking.evidence import Evidence
from tools.store.search.ranking.weights import Weights


def leader_of(scores: Floats, evidence: Evidence, weights: Weights) -> int | None:
    """The row of the title whose series follows it, if one leads.

    A name or an author needs no help, and where many titles have all the themes, the best of them is nobody's leader.
    """
    if not len(scores):
        return None
    best = int(np.argmax(scores))
    named = evidence.names[best] >= weights.name_threshold or evidence.people[best] > 0
    if scores[best] < weights.described or named:
        return None
    themed = evidence.tags[best] == 1.0 and np.count_nonzero(evidence.tags == 1.0) > weights.many
    return None if themed else best


def with_series(scores: Floats, prior: Floats, leader: int, series: Floats, weights: Weights) -> Floats:
    """The scores with those of the leader's `series` (above 0 where a title is of it) raised to just below the leader's."""
    following = np.float32(weights.series_of_described) * scores[leader] + np.float32(weights.series_prior) * prior
    behind = np.minimum(following, scores[leader])
    return np.maximum(scores, np.where(series > 0, behind, np.float32(0.0))).astype(np.float32)
