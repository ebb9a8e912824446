"""Titles like what a reader likes: tags weighted by how rare they are, authors, genre, fame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.shelf import Shelf
from tools.store.backends.embedded.vectors import Vectors
from tools.store.models import Facets

Floats = NDArray[np.float32]
_AUTHOR, _GENRE, _FAME = np.float32(0.35), np.float32(0.1), np.float32(0.2)
_SENSE, _SIMILAR_FLOOR = np.float32(0.5), 0.5


def alike(shelf: Shelf, facets: Facets) -> Floats:
    """Shape (titles,): the share of the tags' idf mass (0 to 1), plus author, genre and fame; 0 where no tag and no
    author is shared.
    """
    tags = _overlap(shelf, facets)
    authors = _works_of(shelf, set(facets.authors))
    scores = tags + _AUTHOR * authors + _FAME * shelf.prior
    if facets.genre in shelf.by_genre:
        scores = scores + _GENRE * shelf.by_genre[str(facets.genre)]
    return np.where((tags > 0) | (authors > 0), scores, np.float32(0.0)).astype(np.float32)


def similar_to(shelf: Shelf, number: int, vectors: Vectors | None) -> Floats:
    """Shape (titles,): likeness in tags, genre and, where there are vectors, in meaning to title `number`, itself left
    out.
    """
    title = shelf.titles[number]
    scores = alike(shelf, Facets(dict.fromkeys(title.tags, 1.0), (), title.genre))
    if vectors is not None:
        meaning, headline = vectors.cosines(vectors.of(number))
        scores = np.where(scores > 0, scores + _SENSE * np.maximum(meaning, headline), np.float32(0.0)).astype(np.float32)
    scores[number] = 0.0
    return np.where(scores >= _SIMILAR_FLOOR * scores.max(initial=0.0), scores, np.float32(0.0)).astype(np.float32)


def _overlap(shelf: Shelf, facets: Facets) -> Floats:
    """Σ weight × idf over the shared tags, by what a title with all of them would have."""
    share = np.zeros(len(shelf), np.float32)
    most = 0.0
    for tag, weight in facets.tags.items():
        numbers = shelf.by_tag.get(tag)
        if numbers is not None and weight > 0:
            mass = weight * float(np.log(1.0 + len(shelf) / len(numbers)))
            share[numbers] += np.float32(mass)
            most += mass
    return share / np.float32(most) if most else share


def _works_of(shelf: Shelf, names: set[str]) -> Floats:
    found = np.zeros(len(shelf), np.float32)
    if names:
        for author, works in zip(shelf.authors, shelf.works, strict=True):
            if author.name in names:
                found[works] = 1.0
    return found
