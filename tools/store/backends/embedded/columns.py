"""The titles of a catalogue in columns, for what goes over all of them at once. A title's number is its row in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import Author, Offer, Ordering, Title
from tools.store.search.arrays import Floats, Mask, Rows
from tools.store.search.conditions.check import Facts
from tools.store.search.conditions.sales import EVERY_DAY, Sale, is_one_of, sale_in, sales_on
from tools.store.search.ranking.orderings import rows_in_order
from tools.store.search.titles.names import prior


@dataclass(frozen=True, slots=True)
class Sales:
    """Arrays have one row a title. `price`: yen for one volume, NaN where it is not sold so."""

    price: NDArray[np.float64]
    stocked: Mask


@dataclass(frozen=True, slots=True)
class SalesOfDay:
    """By format, and by None as a title is sold where no format is asked for: the columns, and all rows in the order of
    their prices."""

    columns: Mapping[str | None, Sales]
    by_price: Mapping[str | None, Rows]


class SalesCalendar:
    """The columns of any day. They change where a campaign begins or ends, a few times a year: those of the last day are
    kept, and made anew (10 µs a title) on the thread that asks first. Threads may do so at once: they make the same."""

    def __init__(self, titles: Sequence[Title], sales: Sequence[tuple[Sale, ...]]) -> None:
        self._titles, self._sales = titles, sales
        self._formats = (None, *dict.fromkeys(sale.format for each in sales for sale in each))
        self._campaigns = tuple(dict.fromkeys(s.days for each in sales for s in each if s.days != EVERY_DAY))
        running = self._running(None)
        self._made = running, self._of(None)

    def on(self, day: str | None) -> SalesOfDay:
        running = self._running(day)
        made = self._made
        if made[0] != running:
            made = self._made = running, self._of(day)
        return made[1]

    def _running(self, day: str | None) -> tuple[bool, ...]:
        return tuple(is_one_of(day, days) for days in self._campaigns)

    def _of(self, day: str | None) -> SalesOfDay:
        every = [sales_on(day, each) for each in self._sales]
        sold = {format_: [sale_in(each, format_) for each in every] for format_ in self._formats}
        order = {format_: rows_in_order(self._titles, Ordering.PRICE, _prices(each)) for format_, each in sold.items()}
        return SalesOfDay({format_: _columns(each) for format_, each in sold.items()}, order)


def _prices(sold: Sequence[Sale | None]) -> list[int | None]:
    return [None if sale is None else sale.price for sale in sold]


def _columns(sold: Sequence[Sale | None]) -> Sales:
    return Sales(
        np.array([np.nan if sale is None else sale.price for sale in sold], np.float64),
        np.array([sale is not None and sale.stocked for sale in sold], np.bool_),
    )


Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TitleColumns:
    """Arrays have one row a title. Numbers are NaN where unknown; `audience` is `Audience.step`. `sales` has prices
    and stock. `ordered` are all numbers in each ordering but by price: what nothing is known of comes last. `works` are the
    numbers of each author's titles."""

    titles: Sequence[Title]
    offers: Sequence[tuple[Offer, ...]]
    numbers: Mapping[str, int]
    prior: Floats
    rating: NDArray[np.float64]
    volumes: NDArray[np.float64]
    year: NDArray[np.float64]
    audience: NDArray[np.float64]
    has_tags: Mask
    has_authors: Mask
    sales: SalesCalendar
    by_genre: Mapping[str, Mask]
    by_status: Mapping[str, Numbers]
    by_magazine: Mapping[str, Numbers]
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

    def of_genres(self, genres: Sequence[str]) -> Mask:
        """Shape (titles,): whether a title is of one of these readerships."""
        found = self.none()
        for genre in genres:
            found |= self.of_genre(genre)
        return found

    def tagged(self, tags: Sequence[str]) -> Mask:
        """Shape (titles,): whether a title carries one of the tags."""
        return self.any_of(self.by_tag, tags)

    def any_of(self, numbers: Mapping[str, Numbers], values: Sequence[str]) -> Mask:
        """Shape (titles,): whether a title is among the numbers of one of the values."""
        found = self.none()
        for each in (numbers[value] for value in values if value in numbers):
            found[each] = True
        return found

    def of_ids(self, title_ids: Sequence[str]) -> Mask:
        """Shape (titles,): whether a title has one of these ids."""
        found = self.none()
        found[[self.numbers[each] for each in title_ids if each in self.numbers]] = True
        return found

    def sold_as(self, format_: str | None, day: str | None) -> Sales:
        """How each title is sold in a format, or where none is asked for, on a day (YYYY-MM-DD)."""
        return self.sales.on(day).columns.get(format_) or Sales(np.full(len(self), np.nan), self.none())

    def in_order(self, ordering: Ordering, format_: str | None = None, day: str | None = None) -> Rows:
        """All numbers in an ordering; by the price in a format, or where none is asked for, on a day."""
        if ordering is not Ordering.PRICE:
            return self.ordered[ordering]
        by_price = self.sales.on(day).by_price
        return by_price.get(format_, by_price[None])

    def none(self) -> Mask:
        return np.zeros(len(self), np.bool_)


def build_columns(titles: Sequence[Title], offers: Sequence[tuple[Offer, ...]]) -> TitleColumns:
    """Takes about 20 µs a title."""
    facts = [Facts.of(title, sold, ()) for title, sold in zip(titles, offers, strict=True)]
    genres = np.array([t.genre or "" for t in titles])
    authors = authors_of(titles)
    return TitleColumns(
        titles=titles,
        offers=offers,
        numbers={t.title_id: i for i, t in enumerate(titles)},
        prior=np.array([prior(t) for t in titles], np.float32),
        rating=np.array([np.nan if t.rating is None else t.rating for t in titles], np.float64),
        volumes=_numbers(facts, lambda each: each.volumes),
        year=_numbers(facts, lambda each: each.year),
        audience=_numbers(facts, lambda each: None if each.audience is None else each.audience.step),
        has_tags=np.array([bool(t.tags) for t in titles], np.bool_),
        has_authors=np.array([bool(t.authors) for t in titles], np.bool_),
        sales=SalesCalendar(titles, [each.sales for each in facts]),
        by_status=_lists((f.status,) for f in facts),
        by_magazine=_lists((t.magazine,) for t in titles),
        by_genre={g: genres == g for g in set(genres.tolist()) if g},
        by_tag=_lists(t.tags for t in titles),
        authors=tuple(authors),
        works=tuple(np.unique(np.array(numbers, np.int32)) for numbers in authors.values()),
        ordered={each: rows_in_order(titles, each) for each in Ordering if each is not Ordering.PRICE},
    )


def authors_of(titles: Sequence[Title]) -> dict[Author, list[int]]:
    """Authors (their role left out) in order of first appearance, with the numbers of their titles."""
    works: dict[Author, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for author in title.authors:
            works[Author(author.name, author.name_ja, author.name_kana)].append(number)
    return works


def counts(numbers: Mapping[str, Numbers]) -> dict[str, int]:
    """How many titles have each value, the most frequent first, equally frequent ones by the alphabet."""
    return {value: len(numbers[value]) for value in sorted(numbers, key=lambda each: (-len(numbers[each]), each))}


def _lists(values: Iterable[Iterable[str | None]]) -> dict[str, Numbers]:
    """The numbers of the titles that have each value."""
    lists: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(values):
        for value in dict.fromkeys(each):
            if value is not None:
                lists[value].append(number)
    return {value: np.array(numbers, np.int32) for value, numbers in lists.items()}


def _numbers(facts: Sequence[Facts], of: Callable[[Facts], int | None]) -> NDArray[np.float64]:
    return np.array([np.nan if (number := of(each)) is None else number for each in facts], np.float64)
