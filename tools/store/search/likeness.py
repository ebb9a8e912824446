"""Titles like one title: by tags and how rare they are, genre, fame and meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from tools.store.search.arrays import Floats, Mask
from tools.store.search.columns import Columns
from tools.store.search.ranking.fusion import the_best
from tools.store.search.ranking.weights import Weights

_NOTHING = np.float32(0.0)


def tag_shares(tags: Iterable[str], counts: Mapping[str, int], titles: int) -> dict[str, float]:
    """The worth of sharing each tag, as a part of that of sharing all of them: by how rare it is among `titles`. `counts` is
    the number of titles by tag; a tag that none carries is worth nothing."""
    masses = {tag: math.log(1.0 + titles / counts[tag]) for tag in tags if counts.get(tag)}
    most = sum(masses.values())
    return {tag: mass / most for tag, mass in masses.items()}


def likeness(tags: Floats, of_genre: Mask, prior: Floats, weights: Weights) -> Floats:
    """The likeness of each title to one title; 0 where no tag is shared. `tags` are sums of `tag_shares`, `of_genre` marks
    the titles of the same genre."""
    scores = tags + np.float32(weights.alike_prior) * prior
    scores = scores + np.float32(weights.same_genre) * of_genre
    return np.where(tags > 0, scores, _NOTHING).astype(np.float32)


def like_title(
    columns: Columns,
    shares: Mapping[str, float],
    genre: str | None,
    itself: str,
    meaning: Floats | None,
    weights: Weights,
    allowed: Mask,
) -> Floats:
    """Shape (titles,): how like one title each title is, by the `shares` of its tags (`tag_shares`), its genre and, where
    they are known, cosines with it; 0 for `itself` and for those that `likest` leaves out."""
    genres = () if genre is None else (genre,)
    scores = likeness(columns.sums("tags", shares), columns.any_of("genre", genres), columns.prior, weights)
    return likest(np.where(columns.of_ids((itself,)), _NOTHING, scores), meaning, weights, allowed)


def likest(likeness: Floats, meaning: Floats | None, weights: Weights, allowed: Mask | None = None) -> Floats:
    """The scores of the `allowed` titles that are at least half as like as the best of all; if there are none, of those that
    are half as like as the best allowed one. `meaning` are cosines with the title, which count too where they are known."""
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
