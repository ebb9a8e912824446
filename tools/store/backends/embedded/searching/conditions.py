"""The conditions of a search over columns: all titles at once, as `tools.store.search.conditions` says of one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.lexical.people import PeopleLeg
from tools.store.models import WHOLE, Audience, Conditions, Range
from tools.store.search.arrays import Mask

Numbers = NDArray[np.float64]


def allowed_by(conditions: Conditions, columns: TitleColumns, people: PeopleLeg) -> Mask:
    """Shape (titles,): whether a title satisfies every condition."""
    allowed = np.ones(len(columns), np.bool_)
    for mask in (*_plain(conditions, columns), *_tags(conditions, columns), *_sales(conditions, columns)):
        allowed &= mask
    for mask in _authors(conditions, columns, people):
        allowed &= mask
    return allowed


def within(numbers: Numbers, bounds: Range) -> Mask:
    """Whether each number lies within; NaN, which is unknown, never does."""
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
