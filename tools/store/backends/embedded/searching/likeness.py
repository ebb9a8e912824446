"""Titles like what a reader likes, and titles like one title, over all titles at once."""

from __future__ import annotations

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.meaning.vectors import Vectors
from tools.store.models import Facets
from tools.store.search.arrays import Floats, Mask
from tools.store.search.likeness import likeness, likest, tag_shares
from tools.store.search.ranking.weights import Weights


def like_facets(columns: TitleColumns, facets: Facets, weights: Weights) -> Floats:
    """Shape (titles,): how like what is liked each title is; 0 where no tag and no author is shared."""
    genre = columns.of_genre(facets.genre)
    return likeness(_shared_tags(columns, facets), _works_of(columns, set(facets.authors)), genre, columns.prior, weights)


def like_title(columns: TitleColumns, number: int, allowed: Mask, vectors: Vectors | None, weights: Weights) -> Floats:
    """Shape (titles,): how like title `number` each title is in tags, genre and, where there are vectors, in meaning; 0 for
    itself, for those that are not half as like it as the best, and for those that are not `allowed`."""
    title = columns.titles[number]
    scores = like_facets(columns, Facets(dict.fromkeys(title.tags, 1.0), (), title.genre), weights)
    scores[number] = 0.0
    meaning = None if vectors is None else np.maximum(*vectors.cosines(vectors.of(number)))
    return likest(scores, meaning, weights, allowed)


def _shared_tags(columns: TitleColumns, facets: Facets) -> Floats:
    """What the shared tags are worth, 0 to 1."""
    share = np.zeros(len(columns), np.float32)
    counts = {tag: len(columns.by_tag[tag]) for tag in facets.tags if tag in columns.by_tag}
    for tag, worth in tag_shares(facets.tags, counts, len(columns)).items():
        share[columns.by_tag[tag]] += np.float32(worth)
    return share


def _works_of(columns: TitleColumns, names: set[str]) -> Mask:
    found = columns.none()
    if names:
        for author, works in zip(columns.authors, columns.works, strict=True):
            if author.name in names:
                found[works] = True
    return found
