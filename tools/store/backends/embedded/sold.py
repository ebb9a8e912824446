"""How the titles of a catalogue are sold, in columns, on one day and another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import Ordering, Title
from tools.store.search.arrays import Mask, Rows
from tools.store.search.conditions.days import EVERY_DAY, is_one_of
from tools.store.search.conditions.sales import Sale, sale_in, sales_on
from tools.store.search.ranking.orderings import rows_in_order


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
