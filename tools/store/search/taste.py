"""Scores titles by their similarity to one title, or by a reader's taste. The score by taste is:

    worth = (similarity to liked titles - weighted similarity to disliked ones) × fame^a × e^(-c |fame - usual fame|) × fit

The usual fame is that of the liked titles; the fit is to what the reader asks for. As in a log-linear model, the product
lets fame choose among equally similar titles without bringing in dissimilar ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tools.store.models import ReaderQuery, Title, WeighedTitle
from tools.store.search.columns import Columns, Floats, Mask
from tools.store.search.ranking.ranked import put_children_first, the_best
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.titles.names import prior

_NOTHING = np.float32(0.0)


def tag_shares(tags: Iterable[str], counts: Mapping[str, int], titles: int) -> dict[str, float]:
    """Returns the weight of each tag by its rarity; the weights add up to 1. `counts` is the number of titles with each tag,
    `titles` the number of all titles. Tags that no title has are left out."""
    masses = {tag: math.log(1.0 + titles / counts[tag]) for tag in tags if counts.get(tag)}
    most = sum(masses.values())
    return {tag: mass / most for tag, mass in masses.items()}


def like_title(
    columns: Columns,
    shares: Mapping[str, float],
    genre: str | None,
    itself: str,
    meaning: Floats | None,
    allowed: Mask,
) -> Floats:
    """Returns each title's similarity to the title with id `itself`; 0 for that title, for titles that are not `allowed` or
    share none of its tags, and for low scores. `shares`: weights of that title's tags (`tag_shares`); `genre`: its
    readership, None if unknown. `meaning`: cosines of its vector with each title's, or None."""
    genres = () if genre is None else (genre,)
    tags = columns.sums("tags", shares)
    scores = tags + np.float32(WEIGHTS.alike_prior) * columns.prior
    scores = scores + np.float32(WEIGHTS.same_genre) * columns.any_of("genre", genres)
    alike = (tags > 0) & ~columns.of_ids((itself,))
    return likest(np.where(alike, scores, _NOTHING).astype(np.float32), meaning, allowed)


def likest(scores: Floats, meaning: Floats | None, allowed: Mask) -> Floats:
    """Sets scores below `alike_floor` times the best, and those not `allowed`, to 0. If none is left, keeps the best
    allowed ones, at most as many as reached that floor. Cosines in `meaning` raise the scores beforehand."""
    if meaning is not None:
        near = np.float32(WEIGHTS.alike_meaning) * np.maximum(meaning, _NOTHING)
        scores = np.where(scores > 0, scores + near, _NOTHING).astype(np.float32)
    found = _from_the_floor(scores)
    held = np.where(allowed, found, _NOTHING)
    if held.any():
        return held
    return the_best(_from_the_floor(np.where(allowed, scores, _NOTHING)), int(np.count_nonzero(found)))


def _from_the_floor(scores: Floats) -> Floats:
    floor = np.float32(WEIGHTS.alike_floor) * scores.max(initial=0.0)
    return np.where(scores >= floor, scores, _NOTHING).astype(np.float32)


@dataclass(frozen=True, slots=True)
class TasteWeights:
    """The weights of a reader's taste. `tags` to `years` weigh the similarity in each field; `disliked` weighs the
    similarity in tags to disliked titles, which is subtracted. `unfamiliar` is the least similarity of any title.

    Exponents: `fame` for a title's fame, but `fame_of_hits` among search hits; `mood` for its fit to a mood; for its share
    of the wanted themes, `fit` if at least the share `usual` of the liked titles have the theme, up to `fit_new` if none
    have it. A title with less than `least_fit` of the best title's share of themes is no answer. `reach` is how fast the
    score falls with the distance in fame from the liked titles. `unwanted` is a factor for unwanted tags."""

    tags: float = 1.0
    readership: float = 0.2
    magazine: float = 0.4
    author: float = 0.4
    years: float = 0.8
    disliked: float = 0.1
    fame: float = 2.0
    reach: float = 2.0
    fit: float = 0.3
    least_fit: float = 0.5
    fit_new: float = 3.0
    usual: float = 0.3
    mood: float = 2.0
    fame_of_hits: float = 0.3
    unfamiliar: float = 0.05
    unwanted: float = 0.1
    rarity: float = 0.75
    """Exponent of a tag's inverse document frequency."""
    span: float = 6.0
    """Years after which likeness in time has fallen to 1/e."""


TASTE = TasteWeights()


Shares = Mapping[str, float]
Value = TypeVar("Value", str, int)


@dataclass(frozen=True, slots=True)
class Profile:
    """A reader's taste. Shares are 0 to 1, of all liked titles. `tags` and `disliked` are to be multiplied by a title's unit
    vector of tags. `authors`: the largest weight of a liked title by each author. `years`: the share of liked titles by
    start year. `fame`: the mean fame of liked titles, None without any. `mass`: how much is known of the reader, 0 to 1."""

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
    """Weighs tags by their inverse document frequency to the power of `TASTE.rarity`. `counts` is the number of titles
    with each tag, out of `titles`. A tag that no title has weighs 0."""

    def __init__(self, counts: Mapping[str, int], titles: int) -> None:
        self._counts, self._titles = counts, max(2, titles)

    def __call__(self, tag: str) -> float:
        found = self._counts.get(tag)
        return math.log(1.0 + self._titles / found) ** TASTE.rarity if found else 0.0

    def unit(self, tags: Iterable[str]) -> dict[str, float]:
        """Returns the unit vector of a title's tags; empty if no title of the catalogue has any of them."""
        weights = {tag: self(tag) for tag in tags}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {tag: weight / length for tag, weight in weights.items() if weight} if length else {}


def profile_of(query: ReaderQuery, rarity: Rarity) -> Profile:
    """Computes a reader's profile. If the liked titles weigh less than 1 in total, the profile is weaker: a single view is
    not yet a taste."""
    liked, disliked = query.liked, [WeighedTitle(title, 1.0) for title in query.disliked]
    told = sum(each.weight for each in liked)
    mass = max(1.0, told)
    tags = _vector(liked, rarity, mass)
    for tag, weight in query.themes.items():
        tags[tag] = tags.get(tag, 0.0) + (weight / mass if rarity(tag) else 0.0)
    return Profile(
        tags=tags,
        disliked=_vector(disliked, rarity, max(1.0, len(disliked))),
        readerships=_share_by_value(liked, lambda title: title.genre, mass),
        magazines=_share_by_value(liked, lambda title: title.magazine, mass),
        authors=_authors(liked),
        years=_share_by_value(liked, lambda title: title.start_year, mass),
        fame=sum(each.weight * prior(each.title) for each in liked) / told if told else None,
        mass=min(1.0, told),
    )


def _vector(liked: Iterable[WeighedTitle], rarity: Rarity, mass: float) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for each in liked:
        for tag, weight in rarity.unit(dict.fromkeys(each.title.tags)).items():
            total[tag] += each.weight * weight / mass
    return dict(total)


def _share_by_value(
    liked: Iterable[WeighedTitle], value_of: Callable[[Title], Value | None], mass: float
) -> dict[Value, float]:
    total: dict[Value, float] = defaultdict(float)
    for each in liked:
        if (value := value_of(each.title)) is not None:
            total[value] += each.weight / mass
    return dict(total)


def _authors(liked: Iterable[WeighedTitle]) -> dict[str, float]:
    most: dict[str, float] = {}
    for each in liked:
        for author in each.title.authors:
            most[author.name] = min(1.0, max(each.weight, most.get(author.name, 0.0)))
    return most


_LEAST_FAME = np.float32(0.02)
"""Least fame in the score, so that an unknown title can still be chosen if nothing else fits."""


class Taste:
    """Scores the titles in `columns` by a reader's taste. `spell` converts an author's name to its key in the columns.
    Unchanged after construction, so safe to share between threads."""

    def __init__(self, columns: Columns, rarity: Rarity, spell: Callable[[str], str] = lambda name: name) -> None:
        self._columns, self._rarity, self._spell = columns, rarity, spell
        tags = columns.having["tags"]
        squares = columns.sums("tags", {tag: rarity(tag) ** 2 for tag in tags})
        self._lengths = np.where(squares > 0, np.sqrt(squares), np.float32(1.0))

    def worth(self, query: ReaderQuery, profile: Profile) -> Floats:
        """Returns a score for each title; 0 for titles that the reader knows or that do not fit. Checks no conditions."""
        found = self._fit(query, profile) * self._fame(query, profile)
        if profile:
            found = found * self._likeness(profile)
        if query.conditions.for_children:
            found = put_children_first(found, self._columns, found > 0)
        if query.unwanted:
            unwanted = self._columns.any_of("tags", query.unwanted)
            found = np.where(unwanted, found * np.float32(TASTE.unwanted), found)
        return np.where(self._columns.of_ids(query.known), np.float32(0.0), found).astype(np.float32)

    def _fame(self, query: ReaderQuery, profile: Profile) -> Floats:
        """Returns the factor of each title's fame. It is weaker among search hits, which fame has ranked already."""
        prior = self._columns.prior
        known = np.maximum(prior, _LEAST_FAME)
        if query.fits is not None:
            return np.asarray(known ** np.float32(TASTE.fame_of_hits), np.float32)
        found = known ** np.float32(TASTE.fame)
        if profile.fame is not None:
            found = found * np.exp(np.float32(-TASTE.reach) * np.abs(prior - np.float32(profile.fame)))
        return np.asarray(found, np.float32)

    def _likeness(self, profile: Profile) -> Floats:
        columns = self._columns
        authors = {self._spell(name): share for name, share in profile.authors.items()}
        score = np.float32(TASTE.tags) * self._sharing(profile.tags)
        score = score + np.float32(TASTE.readership) * columns.shares("genre", profile.readerships)
        score = score + np.float32(TASTE.magazine) * np.sqrt(columns.shares("magazine", profile.magazines))
        score = score + np.float32(TASTE.author) * columns.shares("author", authors)
        score = score + np.float32(TASTE.years) * self._near_years(profile.years)
        if profile.disliked:
            score = score - np.float32(TASTE.disliked) * self._sharing(profile.disliked)
        return np.asarray(np.maximum(score, np.float32(TASTE.unfamiliar)), np.float32)

    def _sharing(self, tags: Shares) -> Floats:
        rare = {tag: weight * self._rarity(tag) for tag, weight in tags.items()}
        return np.asarray(self._columns.sums("tags", rare) / self._lengths, np.float32)

    def _near_years(self, years: Mapping[int, float]) -> Floats:
        found = np.zeros(len(self._columns), np.float64)
        for year, share in years.items():
            found += share * np.exp(-np.abs(self._columns.year - year) / TASTE.span)
        return np.nan_to_num(found).astype(np.float32)

    def _fit(self, query: ReaderQuery, profile: Profile) -> Floats:
        """Returns each title's fit to the query, 0 to 1: search score × share of the wanted themes × fit to the mood. A
        factor that the query does not have is 1."""
        found: Floats = np.ones(len(self._columns), np.float32)
        if query.fits is not None:
            numbers = self._columns.numbers
            found[:] = 0.0
            for title_id in query.fits.keys() & numbers.keys():
                found[numbers[title_id]] = query.fits[title_id]
        if query.wanted:
            found = found * self._themes(query, profile)
        if query.mood:
            found = found * self._sharing(self._rarity.unit(query.mood)) ** np.float32(TASTE.mood)
        return np.asarray(found, np.float32)

    def _themes(self, query: ReaderQuery, profile: Profile) -> Floats:
        """Scores titles by the wanted themes, each weighted by its rarity. A theme that is rare among the liked titles
        counts more. Titles far below the best get 0."""
        masses = [max(map(self._rarity, group), default=0.0) for group in query.wanted]
        most = max(1e-6, sum(masses))
        found: Floats = np.ones(len(self._columns), np.float32)
        share: Floats = np.zeros(len(self._columns), np.float32)
        for group, mass in zip(query.wanted, masses, strict=True):
            # The rarest tag of a theme says most: "Football" says more than "Team Sports".
            had = self._columns.shares("tags", {tag: self._rarity(tag) / max(1e-6, mass) for tag in group})
            part = np.float32(mass / most)
            exponent = TASTE.fit + (TASTE.fit_new - TASTE.fit) * _novelty(group, query, profile)
            share = share + part * had
            found = found * (1 - part * (1 - had)) ** np.float32(exponent)
        enough = share >= np.float32(TASTE.least_fit) * share.max(initial=0.0)
        return np.asarray(np.where(enough, found, np.float32(0.0)), np.float32)


def _novelty(group: tuple[str, ...], query: ReaderQuery, profile: Profile) -> float:
    """Returns 1 for a theme that no liked title has, down to 0 for a usual one; 1 if nothing is known of the reader."""
    told = sum(each.weight for each in query.liked)
    carried = sum(each.weight for each in query.liked if not set(group).isdisjoint(each.title.tags))
    usual = min(1.0, carried / (TASTE.usual * told)) if told else 0.0
    return 1.0 - usual * profile.mass
