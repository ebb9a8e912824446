"""What a reader likes, in shares.

A centroid of the titles that are liked, as Rocchio's relevance feedback has it (in Salton, "The SMART Retrieval System",
1971), over tags weighted by how rare they are, with readership, magazine, authors and years beside them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tools.store.models import ReaderQuery, Title, Weighed
from tools.store.search.taste.weights import TasteWeights
from tools.store.search.titles.prior import prior

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Profile:
    """Shares are 0 to 1, of all that is liked; `tags` and `disliked` are to be multiplied by a title's own unit vector of
    tags. `authors`: the most that a title by each tells. `years`: the first years of what is liked, with their shares.
    `fame`: how well known it is on average, None where nothing is liked. `mass`: how much is known, from nothing to 1."""

    tags: Shares
    disliked: Shares
    readerships: Shares
    magazines: Shares
    authors: Shares
    years: Mapping[int, float]
    fame: float | None
    mass: float

    def __bool__(self) -> bool:
        return bool(self.tags or self.readerships or self.magazines or self.authors)


class Rarity:
    """How much a tag says: its inverse document frequency, flattened. `counts`: how many of `titles` carry each tag."""

    def __init__(self, counts: Mapping[str, int], titles: int, weights: TasteWeights) -> None:
        self._counts, self._titles, self._exponent = counts, max(2, titles), weights.rarity

    def __call__(self, tag: str) -> float:
        found = self._counts.get(tag)
        return math.log(1.0 + self._titles / found) ** self._exponent if found else 0.0

    def unit(self, tags: Iterable[str]) -> dict[str, float]:
        """The unit vector of a title's tags; empty where none of them says anything."""
        weights = {tag: self(tag) for tag in tags}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {tag: weight / length for tag, weight in weights.items() if weight} if length else {}


def profile_of(query: ReaderQuery, rarity: Rarity) -> Profile:
    """What is liked less than one title's worth in all counts as less: a look at a title is not yet a taste."""
    liked, disliked = query.liked, [Weighed(title, 1.0) for title in query.disliked]
    told = sum(each.weight for each in liked)
    mass = max(1.0, told)
    tags = _vector(liked, rarity, mass)
    for tag, weight in query.themes.items():
        tags[tag] = tags.get(tag, 0.0) + (weight / mass if rarity(tag) else 0.0)
    return Profile(
        tags=tags,
        disliked=_vector(disliked, rarity, max(1.0, len(disliked))),
        readerships=_shares(liked, lambda title: [title.genre], mass),
        magazines=_shares(liked, lambda title: [title.magazine], mass),
        authors=_authors(liked),
        years=_years(liked, mass),
        fame=sum(each.weight * prior(each.title) for each in liked) / told if told else None,
        mass=min(1.0, told),
    )


def _vector(liked: Iterable[Weighed], rarity: Rarity, mass: float) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for each in liked:
        for tag, weight in rarity.unit(dict.fromkeys(each.title.tags)).items():
            total[tag] += each.weight * weight / mass
    return dict(total)


def _shares(liked: Iterable[Weighed], values: Callable[[Title], Iterable[str | None]], mass: float) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for each in liked:
        for value in dict.fromkeys(values(each.title)):
            if value is not None:
                total[value] += each.weight / mass
    return dict(total)


def _authors(liked: Iterable[Weighed]) -> dict[str, float]:
    most: dict[str, float] = {}
    for each in liked:
        for author in each.title.authors:
            most[author.name] = min(1.0, max(each.weight, most.get(author.name, 0.0)))
    return most


def _years(liked: Iterable[Weighed], mass: float) -> dict[int, float]:
    total: dict[int, float] = defaultdict(float)
    for each in liked:
        if each.title.start_year is not None:
            total[each.title.start_year] += each.weight / mass
    return dict(total)
