"""How well known a title is, before anybody asks for anything."""

from __future__ import annotations

import math

from tools.store.models import Title

_FAMOUS_RATINGS, _LAST_RANK = 400_000, 100_000


def prior(title: Title) -> float:
    """From 0 to 1, on a log scale: from the number of ratings, else from the rank, else 0.

    A static score beside what matches, as in Craswell et al., "Relevance weighting for query independent evidence" (SIGIR
    2005).
    """
    if title.rating_count:
        return min(1.0, math.log1p(title.rating_count) / math.log1p(_FAMOUS_RATINGS))
    if title.popularity_rank:
        return max(0.0, 1.0 - math.log(title.popularity_rank) / math.log(_LAST_RANK))
    return 0.0
