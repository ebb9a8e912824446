"""How much a title counts for a theme that the catalogue has a narrow and a broad tag for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tools.store.search.columns import Mask
from tools.store.search.ranking.ranked import BROADER_TAG_SCORE, theme_met


class Shelf:
    """Four titles by the places of those that carry each tag."""

    def __init__(self, **places: Sequence[int]) -> None:
        self._places: Mapping[str, Sequence[int]] = places

    def mask_tagged(self, tags: Sequence[str]) -> Mask:
        return np.isin(np.arange(4), [place for tag in tags for place in self._places.get(tag, ())])


@pytest.mark.parametrize(
    ("shelf", "tags", "found"),
    [
        (Shelf(Basketball=[0], Team=[0, 1, 2]), ["Team", "Basketball"], [1, BROADER_TAG_SCORE, BROADER_TAG_SCORE, 0]),
        (Shelf(Team=[0, 1, 2]), ["Team", "Basketball"], [1, 1, 1, 0]),
        (Shelf(Pets=[0], Animals=[1, 2]), ["Pets", "Animals"], [1, 1, 1, 0]),
        (Shelf(Team=[0, 1]), ["Team"], [1, 1, 0, 0]),
        (Shelf(), ["Pets", "Animals"], [0, 0, 0, 0]),
    ],
    ids=["a kind of it", "not in the catalogue", "beside one another", "one tag", "none"],
)
def test_broader_tag_counts_less_beside_a_narrower_one(shelf: Shelf, tags: list[str], found: list[float]) -> None:
    assert theme_met(tags, shelf).astype(float).tolist() == [float(each) for each in found]
