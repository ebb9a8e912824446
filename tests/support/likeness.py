"""How like two names are, one by one: what a table of names has to say."""

from __future__ import annotations

import numpy as np
from rapidfuzz.distance import OSA

from tools.store.search.titles.names import begun_likeness, boost_phonetic_matches


def one_likeness(key: str, name: str) -> float:
    """The likeness of two sound keys, 0 to 1: 1 is equal, about 0.7 a typo or two."""
    if name.startswith(key):
        return begun_likeness(key, name)
    return float(boost_phonetic_matches(key, (name,), np.array([OSA.normalized_similarity(key, name)]))[0])
