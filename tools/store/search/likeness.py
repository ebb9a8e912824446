"""Titles like what a reader likes, and titles like one title: tags by how rare they are, authors, genre, fame, meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tools.store.search.arrays import Floats, Mask
from tools.store.search.ranking.fusion import the_best
from tools.store.search.ranking.weights import Weights

_NOTHING = np.float32(0.0)


def tag_shares(wanted: Mapping[str, float], counts: Mapping[str, int], titles: int) -> dict[str, float]:
    """What sharing each tag is worth, as a part of what sharing all of them is: its weight by how rare it is among `titles`.

    `wanted` are weights by tag, `counts` how many titles carry each; a tag that none carries is worth nothing.
    """
    masses = {
        tag: weight * math.log(1.0 + titles / counts[tag])
        for tag, weight in wanted.items()
        if weight > 0 and counts.get(tag)
    }
    most = sum(masses.values())
    return {tag: mass / most for tag, mass in masses.items()}


def likeness(tags: Floats, by_author: Mask, of_genre: Mask, prior: Floats, weights: Weights) -> Floats:
    """For each title how like what is liked it is; 0 where no tag and no author is shared.

    `tags` are sums of `tag_shares`; the masks are the titles by an author, and of the genre, that is liked.
    """
    scores = tags + np.float32(weights.same_author) * by_author + np.float32(weights.alike_prior) * prior
    scores = scores + np.float32(weights.same_genre) * of_genre
    return np.where((tags > 0) | by_author, scores, _NOTHING).astype(np.float32)


def likest(likeness: Floats, meaning: Floats | None, weights: Weights, allowed: Mask | None = None) -> Floats:
    """Of titles like one title those that are at least half as like it as the best, and `allowed`; where none of these is,
    those half as like as the best of these. `meaning` are cosines with it, which decide besides where they are known."""
    scores = likeness
    if meaning is not None:
        near = np.float32(weights.alike_meaning) * np.maximum(meaning, _NOTHING)
        scores = np.where(scores > 0, scores + near, _NOTHING).astype(np.float32)
    found = _from_the_floor(scores, weights)
    if allowed is None:
        return found
    held = np.where(allowed, found, _NOTHING)
    if held.any():
        return held
    return the_best(_from_the_floor(np.where(allowed, scores, _NOTHING), weights), int(np.count_nonzero(found)))


def _from_the_floor(scores: Floats, weights: Weights) -> Floats:
    floor = np.float32(weights.alike_floor) * scores.max(initial=0.0)
    return np.where(scores >= floor, scores, _NOTHING).astype(np.float32)
