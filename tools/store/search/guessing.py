"""What is no clear answer: a name that is only somewhat like the query, and names that come near where nothing matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tools.store.models import Ordering
from tools.store.search.evidence import Evidence, Floats
from tools.store.search.fusion import Weights, order
from tools.store.search.query import ParsedQuery

SURE_NAME = 0.8
"""A name this like the query is that name with a slip: one letter in five at most. "Batman" and "Bakuman" have 0.71."""
NEAR_NAME = 0.5
MOST_NEAR = 3


def is_guess(scores: Floats, evidence: Evidence, weights: Weights | None = None) -> bool:
    """Whether the best title is an answer only because its name is somewhat like the query."""
    w = weights or Weights()
    best = int(np.argmax(scores))
    likeness = evidence.names[best]
    if scores[best] <= 0 or not w.name_threshold <= likeness < SURE_NAME:
        return False
    # Fusion takes the strongest of name, author and story, and adds fame: nothing was stronger than the name.
    return bool(scores[best] <= likeness + np.float32(w.name_prior) * evidence.prior[best] + np.float32(1e-4))


def near_names(evidence: Evidence) -> Sequence[int]:
    """Where no title matches: the places of those with the nearest names, nearest first."""
    near = np.where(evidence.names >= NEAR_NAME, evidence.names, np.float32(0.0)).astype(np.float32)
    return [int(place) for place in order(near, MOST_NEAR)]


def ordering_of(reading: ParsedQuery, scores: Floats, evidence: Evidence, weights: Weights | None = None) -> Ordering | None:
    """The ordering that is asked for, where there is something to order: what is called so stays first ("latest One Piece"
    asks for the volume)."""
    w = weights or Weights()
    named = evidence.names[int(np.argmax(scores))] >= w.name_threshold
    return None if named else reading.ordering
