"""Searching a loaded catalogue. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.columns import Numbers, TitleColumns, counts
from tools.store.backends.embedded.index import LexicalIndex, SparseIndex
from tools.store.backends.embedded.names import ExactNames, NamesLeg
from tools.store.backends.embedded.people import PeopleLeg
from tools.store.backends.embedded.vectors import Vectors
from tools.store.models import (
    WHOLE,
    Audience,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    NameMatches,
    Neighbour,
    Ordering,
    Range,
    ReaderQuery,
    Title,
)
from tools.store.search.arrays import Floats, Mask
from tools.store.search.likeness import likeness, likest, tag_shares
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import AskedNames
from tools.store.search.ranking.fusion import meant, order
from tools.store.search.ranking.names import pointed_from
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights
from tools.store.search.taste import Rarity, TasteWeights, profile_of, worth


@dataclass(frozen=True, slots=True)
class WholeCatalog:
    """`Candidates` for one query: a candidate's row is its title's number. `senses`: the cosines with the query's vector,
    where there is one; `pointed`: the title by whose authors the query asks for more. Read only; safe to share between
    threads."""

    columns: TitleColumns
    names: NamesLeg
    authors: PeopleLeg
    prose: SparseIndex
    senses: tuple[Floats, Floats] | None = None
    pointed: int | None = None

    @classmethod
    def of(cls, columns: TitleColumns, index: LexicalIndex) -> WholeCatalog:
        return cls(columns, NamesLeg(index.names, len(columns)), PeopleLeg(index.people, columns), index.prose)

    @property
    def prior(self) -> Floats:
        return self.columns.prior

    @property
    def by_same_author(self) -> Mask | None:
        return None if self.pointed is None else self.authors.works_of_authors(self.pointed)

    def named(self, asked: AskedNames, among: Mask | None = None) -> Floats:
        return self.names.find(asked, among)

    def spelled_in_katakana(self, text: str) -> Floats:
        return self.names.spelled_in_katakana(text)

    def beginning_with(self, keys: tuple[str, ...]) -> Floats:
        return self.names.beginning_with(keys)

    def name_keys(self, row: int) -> tuple[str, ...]:
        return self.names.keys_of(row)

    def related_to(self, row: int) -> Mask:
        columns = self.columns
        return columns.of_ids(columns.titles[row].related)

    def people(self, query: ParsedQuery) -> Floats:
        return self.authors.find(query)

    def written_by(self, name: str) -> Mask:
        return self.authors.exactly(name)

    def words(self, asked: Sequence[Sequence[str]]) -> Floats:
        return self.prose.covered(asked)

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        return self.prose.in_vocabulary(dict.fromkeys(terms, 1.0))

    def tagged(self, tags: Sequence[str]) -> Mask:
        return self.columns.tagged(tags)

    def of_genre(self, genre: str) -> Mask:
        return self.columns.of_genre(genre)


FloatColumn = NDArray[np.float64]


def allowed_by(conditions: Conditions, columns: TitleColumns, people: PeopleLeg) -> Mask:
    """Shape (titles,): whether a title satisfies every condition."""
    allowed = np.ones(len(columns), np.bool_)
    for mask in (*_plain(conditions, columns), *_tags(conditions, columns), *_sales(conditions, columns)):
        allowed &= mask
    for mask in _authors(conditions, columns, people):
        allowed &= mask
    return allowed


def within(numbers: FloatColumn, bounds: Range) -> Mask:
    """True if each number lies within; NaN, which is unknown, never does."""
    inside = ~np.isnan(numbers)
    if bounds.least is not None:
        inside &= numbers >= bounds.least
    if bounds.most is not None:
        inside &= numbers <= bounds.most
    return inside


def _plain(asked: Conditions, columns: TitleColumns) -> Iterator[Mask]:
    if asked.genres:
        yield columns.of_genres(asked.genres)
    if asked.min_rating is not None and asked.min_rating > 0:
        yield within(columns.rating, Range(asked.min_rating))
    if asked.statuses:
        yield columns.any_of(columns.by_status, asked.statuses)
    if asked.volumes:
        yield within(columns.volumes, asked.volumes)
    if asked.years:
        yield within(columns.year, asked.years)
    if asked.audience is not None:
        yield within(columns.audience, Range(0, asked.audience.step))
    if asked.no_adult:
        yield columns.audience != Audience.ADULT.step
    if asked.magazines:
        yield columns.any_of(columns.by_magazine, asked.magazines)


def _tags(asked: Conditions, columns: TitleColumns) -> Iterator[Mask]:
    for group in asked.tags:
        yield columns.tagged(group)
    if asked.without_tags:
        yield columns.has_tags & ~columns.tagged(asked.without_tags)
    if asked.without_genres:
        yield columns.of_genres(tuple(columns.by_genre)) & ~columns.of_genres(asked.without_genres)
    if asked.without_magazines:
        known = columns.any_of(columns.by_magazine, tuple(columns.by_magazine))
        yield known & ~columns.any_of(columns.by_magazine, asked.without_magazines)
    if asked.without_titles:
        yield ~columns.of_ids(asked.without_titles)


def _sales(asked: Conditions, columns: TitleColumns) -> Iterator[Mask]:
    if not (asked.format or asked.price or asked.series_price or asked.in_stock or asked.all_volumes):
        return
    sales = columns.sold_as(asked.format, asked.day)
    yield ~np.isnan(sales.price)
    if asked.price:
        yield within(sales.price, asked.price)
    if asked.series_price:
        volumes = 1 if asked.format in WHOLE else np.where(columns.volumes > 0, columns.volumes, np.nan)
        yield within(sales.price * volumes, asked.series_price)
    if asked.in_stock or asked.all_volumes:
        yield sales.stocked


def _authors(asked: Conditions, columns: TitleColumns, people: PeopleLeg) -> Iterator[Mask]:
    if asked.author is not None:
        yield people.exactly(asked.author)
    if asked.without_authors:
        yield columns.has_authors
    for name in asked.without_authors:
        yield ~people.exactly(name)


def like_title(columns: TitleColumns, number: int, allowed: Mask, vectors: Vectors | None, weights: Weights) -> Floats:
    """Shape (titles,): how like title `number` each title is in tags, genre and, where there are vectors, in meaning; 0 for
    itself, for those that are not half as like it as the best, and for those that are not `allowed`."""
    title = columns.titles[number]
    shared = np.zeros(len(columns), np.float32)
    tags = {tag: len(columns.by_tag[tag]) for tag in title.tags}
    for tag, part in tag_shares(tags, tags, len(columns)).items():
        shared[columns.by_tag[tag]] += np.float32(part)
    scores = likeness(shared, columns.of_genre(title.genre), columns.prior, weights)
    scores[number] = 0.0
    meaning = None if vectors is None else np.maximum(*vectors.cosines(vectors.of(number)))
    return likest(scores, meaning, weights, allowed)


class ColumnTaste:
    """`TasteCandidates` for the whole catalogue: a row is a title's number. Read only after construction; safe to share
    between threads."""

    def __init__(self, columns: TitleColumns, weights: TasteWeights | None = None) -> None:
        self._columns, self._weights = columns, weights or TasteWeights()
        self._rarity = Rarity(counts(columns.by_tag), len(columns), self._weights)
        self._lengths = self._tag_lengths()
        self._works = _works(columns)
        self.prior = columns.prior

    def scores(self, query: ReaderQuery, allowed: Mask) -> Floats:
        """Shape (titles,): how much each title is to the reader's taste; 0 for what is no answer."""
        found = worth(query, profile_of(query, self._rarity), self, self._rarity, self._weights)
        left = allowed & ~self._columns.of_ids(query.known)
        return np.where(left, found, np.float32(0.0)).astype(np.float32)

    def sharing(self, tags: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for tag, weight in tags.items():
            if (numbers := self._columns.by_tag.get(tag)) is not None:
                found[numbers] += np.float32(weight * self._rarity(tag))
        return np.asarray(found / self._lengths, np.float32)

    def tagged(self, tags: Sequence[str]) -> Mask:
        return self._columns.tagged(tags)

    def of_readerships(self, shares: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for genre, share in shares.items():
            found[self._columns.of_genre(genre)] = share
        return found

    def of_magazines(self, shares: Mapping[str, float]) -> Floats:
        return self._best(self._columns.by_magazine, shares)

    def of_authors(self, shares: Mapping[str, float]) -> Floats:
        return self._best(self._works, shares)

    def near_years(self, years: Mapping[int, float], span: float) -> Floats:
        found = np.zeros(len(self.prior), np.float64)
        for year, share in years.items():
            found += share * np.exp(-np.abs(self._columns.year - year) / span)
        return np.nan_to_num(found).astype(np.float32)

    def worth(self, fits: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for title_id, fit in fits.items():
            if (number := self._columns.numbers.get(title_id)) is not None:
                found[number] = fit
        return found

    def _best(self, numbers: Mapping[str, Numbers], shares: Mapping[str, float]) -> Floats:
        """The largest share among those that each title has."""
        found = self._zeros()
        for value, share in sorted(shares.items(), key=lambda each: each[1]):
            if value in numbers:
                found[numbers[value]] = share
        return found

    def _tag_lengths(self) -> Floats:
        """The length of each title's vector of tags; 1 where it has none."""
        squares = np.zeros(len(self._columns), np.float64)
        for tag, numbers in self._columns.by_tag.items():
            squares[numbers] += self._rarity(tag) ** 2
        return np.where(squares > 0, np.sqrt(squares), 1.0).astype(np.float32)

    def _zeros(self) -> Floats:
        return np.zeros(len(self._columns), np.float32)


def _works(columns: TitleColumns) -> dict[str, Numbers]:
    """The numbers of the titles by authors of each name."""
    works: dict[str, list[Numbers]] = defaultdict(list)
    for author, numbers in zip(columns.authors, columns.works, strict=True):
        works[author.name].append(numbers)
    return {name: np.unique(np.concatenate(lists)) for name, lists in works.items()}


class Engine:
    """Read only after construction; safe to share between threads."""

    def __init__(
        self, columns: TitleColumns, index: LexicalIndex, parser: QueryParser, weights: Weights | None = None
    ) -> None:
        self._columns, self._parser = columns, parser
        self._candidates = WholeCatalog.of(columns, index)
        self._exact, self._taste = ExactNames(index, columns), ColumnTaste(columns)
        self.terms = CatalogTerms(
            tags=counts(columns.by_tag),
            magazines=counts(columns.by_magazine),
            readerships={genre: int(titles.sum()) for genre, titles in columns.by_genre.items()},
            titles=len(columns),
        )
        self._weights = weights or Weights()

    def search(
        self,
        asked: CatalogQuery,
        vector: Floats | None = None,
        vectors: Vectors | None = None,
        *,
        wants_meaning: bool = False,
    ) -> CatalogPage:
        """The best titles for the query under its conditions. Without its `vector` the vector leg is left out, and the page
        is degraded if meaning was wanted and the text asks for something."""
        query, allowed = self._parser.parse(asked.text, asked.conditions.author), self._allowed(asked.conditions)
        query = replace(query, ordering=asked.ordering or query.ordering)
        if query.empty:
            return self._best_known(allowed, asked, query.ordering)
        degraded = ("vector",) if wants_meaning and vector is None else ()
        pointed = self._pointed_from(query)
        if pointed is not None and query.similar_to:
            alike = like_title(self._columns, pointed, allowed, vectors, self._weights)
            return self._page(Ranked(alike, ordering=query.ordering), asked, degraded)
        senses = None if vector is None or vectors is None else vectors.cosines(vector)
        candidates = replace(self._candidates, senses=senses, pointed=pointed)
        return self._page(rank(query, candidates, self._weights, allowed), asked, degraded)

    def popular(self, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The best known titles under the conditions."""
        return self._best_known(self._allowed(conditions), CatalogQuery("", conditions, limit), None).titles

    def for_reader(self, query: ReaderQuery) -> tuple[Title, ...]:
        """Titles to a reader's taste, best first."""
        return self._named(order(self._taste.scores(query, self._allowed(query.conditions)), query.limit).tolist())

    def nearest(self, vector: Floats, vectors: Vectors, limit: int) -> tuple[Neighbour, ...]:
        """The titles nearest to the vector in meaning."""
        near = meant(*vectors.cosines(vector), self._weights)
        rows = order(near, limit).tolist()
        return tuple(Neighbour(title, float(near[row])) for row, title in zip(rows, self._named(rows), strict=True))

    def match_names(self, names: Sequence[str]) -> dict[str, NameMatches]:
        """The titles and authors of exactly these names."""
        return self._exact.find(names)

    def _best_known(self, allowed: Mask, asked: CatalogQuery, ordering: Ordering | None) -> CatalogPage:
        """Titles of equal popularity in the order of their rank."""
        numbers = self._in_order(allowed, ordering or Ordering.POPULARITY, asked)
        return CatalogPage(self._named(asked.page_of(numbers)), len(numbers))

    def _page(self, ranked: Ranked, asked: CatalogQuery, degraded: tuple[str, ...]) -> CatalogPage:
        if ranked.ordering is None:
            numbers = ranked.best(asked.offset + asked.limit)
        else:
            numbers = self._in_order(ranked.scores > 0, ranked.ordering, asked)
        best = self._named(asked.page_of(numbers))
        return CatalogPage(best, ranked.answers, degraded, ranked.guessed, self._named(ranked.near))

    def _named(self, numbers: Iterable[int]) -> tuple[Title, ...]:
        return tuple(self._columns.titles[number] for number in numbers)

    def _in_order(self, wanted: Mask, ordering: Ordering, asked: CatalogQuery) -> Sequence[int]:
        every = self._columns.in_order(ordering, asked.conditions.format, asked.conditions.day)
        numbers: list[int] = every[wanted[every]].tolist()
        return numbers

    def _allowed(self, conditions: Conditions) -> Mask:
        return allowed_by(conditions, self._columns, self._candidates.authors)

    def _pointed_from(self, query: ParsedQuery) -> int | None:
        """The number of the title that the query points from, whatever the conditions say of it."""
        if (name := query.points_from) is None:
            return None
        aliases = self._parser.parse(name).aliases
        return pointed_from(name, aliases, self._candidates, self._weights)
