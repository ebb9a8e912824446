"""The titles of a catalogue in columns, for what goes over all of them at once. A title's number is its row in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import Author, Offer, Ordering, Title
from tools.store.search.arrays import Floats, Mask, Rows
from tools.store.search.ranking.orderings import rows_in_order
from tools.store.search.titles.prior import prior

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TitleColumns:
    """Arrays have one row a title. `rating` is NaN where unknown; `ordered` are all numbers in each ordering, those of which
    nothing is known last. `works` are the numbers of each author's titles."""

    titles: Sequence[Title]
    offers: Sequence[tuple[Offer, ...]]
    numbers: Mapping[str, int]
    prior: Floats
    rating: NDArray[np.float64]
    by_genre: Mapping[str, Mask]
    by_tag: Mapping[str, Numbers]
    authors: Sequence[Author]
    works: Sequence[Numbers]
    ordered: Mapping[Ordering, Rows]

    def __len__(self) -> int:
        return len(self.titles)

    def of_genre(self, genre: str | None) -> Mask:
        """Shape (titles,): whether a title is of this readership."""
        found = None if genre is None else self.by_genre.get(genre)
        return self.none() if found is None else found

    def tagged(self, tags: Sequence[str]) -> Mask:
        """Shape (titles,): whether a title carries one of the tags."""
        found = self.none()
        for numbers in (self.by_tag[tag] for tag in tags if tag in self.by_tag):
            found[numbers] = True
        return found

    def none(self) -> Mask:
        return np.zeros(len(self), np.bool_)


def build_columns(titles: Sequence[Title], offers: Sequence[tuple[Offer, ...]]) -> TitleColumns:
    """Takes about 20 µs a title."""
    genres = np.array([t.genre or "" for t in titles])
    authors = authors_of(titles)
    return TitleColumns(
        titles=titles,
        offers=offers,
        numbers={t.title_id: i for i, t in enumerate(titles)},
        prior=np.array([prior(t) for t in titles], np.float32),
        rating=np.array([np.nan if t.rating is None else t.rating for t in titles], np.float64),
        by_genre={g: genres == g for g in set(genres.tolist()) if g},
        by_tag=_by_tag(titles),
        authors=tuple(authors),
        works=tuple(np.unique(np.array(numbers, np.int32)) for numbers in authors.values()),
        ordered={ordering: rows_in_order(titles, ordering) for ordering in Ordering},
    )


def authors_of(titles: Sequence[Title]) -> dict[Author, list[int]]:
    """Authors (their role left out) in order of first appearance, with the numbers of their titles."""
    works: dict[Author, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for author in title.authors:
            works[Author(author.name, author.name_ja, author.name_kana)].append(number)
    return works


def _by_tag(titles: Sequence[Title]) -> dict[str, Numbers]:
    lists: dict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for tag in set(title.tags):
            lists[tag].append(number)
    return {tag: np.array(numbers, np.int32) for tag, numbers in lists.items()}
