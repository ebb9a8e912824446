"""What a search has found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.store.models import Title
from tools.store.search.arrays import Mask
from tools.store.search.ranking.ranked import Ranked


@dataclass(frozen=True, slots=True)
class Matches:
    """The best titles, best first, and how many there are. `sensed`: meaning was used. `guessed` and `near` as in
    `CatalogPage`."""

    titles: tuple[Title, ...]
    total: int
    sensed: bool
    guessed: bool = False
    near: tuple[Title, ...] = ()


def total_of(ranked: Ranked, allowed: Mask, with_all_themes: int) -> int:
    """How many titles match in all, where `with_all_themes` of the index are allowed and have every theme of the query.

    Where all of them that were recalled are answers, those that were not are answers too.
    """
    if ranked.evidence is None or ranked.nearest:
        return ranked.answers
    themed = (ranked.evidence.tags == 1.0) & allowed
    if not themed.any() or not np.all(ranked.scores[themed] > 0):
        return ranked.answers
    return ranked.answers + max(0, with_all_themes - int(np.count_nonzero(themed)))
