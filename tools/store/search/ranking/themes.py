"""How far titles are about a theme, of which the catalogue may have several tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tools.store.search.arrays import Floats, Mask

KIND_OF = 0.75
"""The share of a tag's titles that carry another one too, from which on it is a kind of that: basketball of team sports."""
BROADER = np.float32(0.75)
"""What a title is worth that has the broader tag alone: most of these are about another kind."""


class Tagged(Protocol):
    def tagged(self, tags: Sequence[str]) -> Mask: ...


def theme_met(tags: Sequence[str], titles: Tagged) -> Floats | Mask:
    """1 for the titles with one of the theme's tags, less for those with none but a broader one than another of them."""
    if len(tags) == 1:
        return titles.tagged(tags)
    masks = [mask for tag in tags if (mask := titles.tagged([tag])).any()]
    found: Floats = np.zeros(len(titles.tagged(tags)), np.float32)
    for mask in masks:
        broad = any(_is_kind_of(other, mask) for other in masks)
        found = np.maximum(found, mask * (BROADER if broad else np.float32(1)))
    return found


def _is_kind_of(one: Mask, other: Mask) -> bool:
    few, many = int(np.count_nonzero(one)), int(np.count_nonzero(other))
    return few < many and int(np.count_nonzero(one & other)) >= KIND_OF * few
