"""Columns of a catalogue's titles, for computations over all titles at once. A title's number is its row in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import WHOLE, Author, Conditions, Offer, Ordering, Range, Title
from tools.store.search.columns import Columns, Having, Mask, Numbers, Rows, having
from tools.store.search.conditions.check import (
    EVERY_DAY,
    Criterion,
    Facts,
    OneOf,
    Sale,
    Within,
    criteria,
    is_one_of,
    sale_in,
    sales_on,
)
from tools.store.search.ranking.candidates import rows_in_order
from tools.store.search.titles.names import prior


@dataclass(frozen=True, slots=True)
class Sales:
    """Prices and stock in one format on one day, with a row for each title. `price` is that of one volume, or of the whole
    set for a set format; NaN if the title is not sold in the format. `stocked` marks titles that can be bought now. `order`
    lists all title numbers, cheapest first."""

    price: NDArray[np.float64]
    stocked: Mask
    order: Rows


SalesOfDay = Mapping[str | None, Sales]
"""The sales on one day by format; the key None stands for each title's usual format."""


class SalesCalendar:
    """Computes the sales of a day, in about 10 µs a title, and caches the last result until a campaign begins or ends.
    Thread-safe: threads that compute at the same time get equal results."""

    def __init__(self, titles: Sequence[Title], sales: Sequence[tuple[Sale, ...]]) -> None:
        self._titles, self._sales = titles, sales
        self._formats = (None, *dict.fromkeys(sale.format for each in sales for sale in each))
        self._campaigns = tuple(dict.fromkeys(s.days for each in sales for s in each if s.days != EVERY_DAY))
        running = self._running(None)
        self._made = running, self._compute_sales(None)

    def find_sales(self, day: str | None) -> SalesOfDay:
        running = self._running(day)
        made = self._made
        if made[0] != running:
            made = self._made = running, self._compute_sales(day)
        return made[1]

    def _running(self, day: str | None) -> tuple[bool, ...]:
        return tuple(is_one_of(day, days) for days in self._campaigns)

    def _compute_sales(self, day: str | None) -> SalesOfDay:
        every = [sales_on(day, each) for each in self._sales]
        return {format_: self._sales_in([sale_in(each, format_) for each in every]) for format_ in self._formats}

    def _sales_in(self, sold: Sequence[Sale | None]) -> Sales:
        prices = [None if sale is None else sale.price for sale in sold]
        return Sales(
            np.array([np.nan if price is None else price for price in prices], np.float64),
            np.array([sale is not None and sale.stocked for sale in sold], np.bool_),
            rows_in_order(self._titles, Ordering.PRICE, prices),
        )


@dataclass(frozen=True, slots=True)
class TitleColumns(Columns):
    """All titles of a file in columns. `amounts` has an array for each numeric field (rating, volumes, year; NaN if
    unknown); `known` has, by field, a mask of the titles with a value. `works[i]` are the numbers of the titles by
    `authors[i]`. `ordered` lists all title numbers by each ordering except price, unknown values last."""

    titles: Sequence[Title]
    offers: Sequence[tuple[Offer, ...]]
    amounts: Mapping[str, NDArray[np.float64]]
    known: Mapping[str, Mask]
    sales: SalesCalendar
    authors: Sequence[Author]
    works: Sequence[Numbers]
    ordered: Mapping[Ordering, Rows]

    def meeting(self, asked: Conditions) -> Mask:
        """Returns a mask of shape (titles,) of the titles that satisfy all conditions except those on authors."""
        met = np.ones(len(self), np.bool_)
        for mask in (*map(self._mask_criterion, criteria(asked)), *self._mask_sales(asked)):
            met &= mask
        return met

    def in_order(self, ordering: Ordering, format_: str | None = None, day: str | None = None) -> Rows:
        """Returns all title numbers in an ordering. Prices are those of `format_` on `day`, or of each title's usual format
        if no title is sold in `format_`."""
        if ordering is not Ordering.PRICE:
            return self.ordered[ordering]
        sales = self.sales.find_sales(day)
        return sales.get(format_, sales[None]).order

    def written_by_authors_of(self, number: int) -> Mask:
        return self.any_of("author", [author.name for author in self.titles[number].authors])

    def _mask_criterion(self, asked: Criterion) -> Mask:
        if isinstance(asked, Within):
            return _mask_range(self.amounts[asked.field], asked.bounds)
        found = self.of_ids(asked.values) if asked.field == "title_id" else self.any_of(asked.field, asked.values)
        if isinstance(asked, OneOf):
            return found
        return ~found if asked.may_be_unknown else self.known[asked.field] & ~found

    def _mask_sales(self, asked: Conditions) -> Iterator[Mask]:
        if not (asked.format or asked.price or asked.series_price or asked.in_stock or asked.all_volumes):
            return
        sales = self.sales.find_sales(asked.day).get(asked.format)
        if sales is None:
            yield self.none()
            return
        yield ~np.isnan(sales.price)
        if asked.price:
            yield _mask_range(sales.price, asked.price)
        if asked.series_price:
            volumes = self.amounts["volumes"]
            yield _mask_range(
                sales.price * (1 if asked.format in WHOLE else np.where(volumes > 0, volumes, np.nan)), asked.series_price
            )
        if asked.in_stock or asked.all_volumes:
            yield sales.stocked


def _mask_range(numbers: NDArray[np.float64], bounds: Range) -> Mask:
    inside = ~np.isnan(numbers)
    if bounds.least is not None:
        inside &= numbers >= bounds.least
    if bounds.most is not None:
        inside &= numbers <= bounds.most
    return inside


def build_columns(titles: Sequence[Title], offers: Sequence[tuple[Offer, ...]]) -> TitleColumns:
    facts = [Facts.from_title(title, sold, ()) for title, sold in zip(titles, offers, strict=True)]
    amounts = {"rating": [f.rating for f in facts], "volumes": [f.volumes for f in facts], "year": [f.year for f in facts]}
    numbers = {field: np.array(each, np.float64) for field, each in amounts.items()}
    authors = authors_of(titles)
    return TitleColumns(
        numbers={t.title_id: i for i, t in enumerate(titles)},
        prior=np.array([prior(t) for t in titles], np.float32),
        year=numbers["year"],
        having={
            "tags": having(t.tags for t in titles),
            "author": having((author.name for author in t.authors) for t in titles),
            "magazine": having(f.magazine for f in facts),
            **{field: having((getattr(f, field),) for f in facts) for field in ("genre", "status", "audience")},
        },
        related=[t.related for t in titles],
        titles=titles,
        offers=offers,
        amounts=numbers,
        known={
            field: np.array([bool(getattr(each, field)) for each in of], np.bool_)
            for field, of in (("authors", titles), ("tags", titles), ("genre", titles), ("magazine", facts))
        },
        sales=SalesCalendar(titles, [each.sales for each in facts]),
        authors=tuple(authors),
        works=tuple(np.unique(np.array(numbers, np.int32)) for numbers in authors.values()),
        ordered={each: rows_in_order(titles, each) for each in Ordering if each is not Ordering.PRICE},
    )


def authors_of(titles: Sequence[Title]) -> dict[Author, list[int]]:
    """Returns the authors, without their roles, in order of first appearance, with the numbers of their titles."""
    works: dict[Author, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for author in title.authors:
            works[Author(author.name, author.name_ja, author.name_kana)].append(number)
    return works


def count_titles(numbers: Having) -> dict[str, int]:
    """Returns the number of titles for each value, sorted by descending number, then alphabetically."""
    return {value: len(numbers[value]) for value in sorted(numbers, key=lambda each: (-len(numbers[each]), each))}
