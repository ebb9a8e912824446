"""How a title is sold, for conditions of price and stock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.store.models import DIGITAL, PAPER, WHOLE, Campaign, Offer
from tools.store.models.offer import FIXED, campaign_offer_problem, standing_price

Days = tuple[tuple[int, int], ...]
"""Spans of days: first and last, both included."""
NO_DAY = 0
_YEAR, _ALWAYS = ((0, 1231),), ((0, 0), (1000_01_01, 9999_12_31))
EVERY_DAY: Days = _YEAR


def numbers_of(day: str | None) -> tuple[int, ...]:
    """The numbers of a day (YYYY-MM-DD) or of none: a sale is on if one of them lies in its days."""
    return (NO_DAY,) if day is None else (int(day[5:].replace("-", "")), int(day.replace("-", "")))


def is_one_of(day: str | None, days: Days) -> bool:
    return any(first <= number <= last for first, last in days for number in numbers_of(day))


def running(campaign: Campaign) -> tuple[Days, Days]:
    """The days of a sound campaign, and all others."""
    until = int(campaign.until.replace("-", ""))
    start = int((campaign.start or "1000-01-01").replace("-", ""))
    over_new_year = campaign.yearly and start > until
    days = ((101, until), (start, 1231)) if over_new_year else ((start, until),)
    return days, tuple(_others(days, _YEAR if campaign.yearly else _ALWAYS))


def _others(days: Days, every: Days) -> Iterator[tuple[int, int]]:
    """`every` without `days`; both in order."""
    for first, last in every:
        for taken_first, taken_last in days:
            if first <= taken_last and taken_first <= last:
                if first < taken_first:
                    yield first, taken_first - 1
                first = taken_last + 1
        if first <= last:
            yield first, last


@dataclass(frozen=True, slots=True)
class Sale:
    """A format that a title is sold in: yen for one volume (of a set: for all), whether it can be had now, and on which
    days it costs so much."""

    format: str
    price: int
    stocked: bool
    days: Days = EVERY_DAY


def sales_of(offers: Sequence[Offer]) -> tuple[Sale, ...]:
    """One a format and day: the cheapest offer's price; stocked where any of them is."""
    formats = dict.fromkeys(offer.format for offer in offers)
    return tuple(sale for each in formats for sale in _sales(each, [offer for offer in offers if offer.format == each]))


def sales_on(day: str | None, sales: Sequence[Sale]) -> tuple[Sale, ...]:
    """The sales of a day (YYYY-MM-DD); on None no campaign runs."""
    return tuple(sale for sale in sales if is_one_of(day, sale.days))


def sale_in(sales: Sequence[Sale], format_: str | None) -> Sale | None:
    """The sale in a format; where none is asked for the paper one, else the digital, else the first that is no set."""
    if format_ is not None:
        return next((sale for sale in sales if sale.format == format_), None)
    single = [sale for sale in sales if sale.format not in WHOLE]
    usual = (PAPER, DIGITAL)
    return min(single, key=lambda each: usual.index(each.format) if each.format in usual else len(usual), default=None)


def series_price(sale: Sale | None, volumes: int | None) -> int | None:
    """Yen for all volumes: at the price of one, or what a set of them costs."""
    if sale is None or sale.format in WHOLE:
        return None if sale is None else sale.price
    return sale.price * volumes if volumes else None


def _sales(format_: str, offers: Sequence[Offer]) -> Iterator[Sale]:
    """Of several campaigns in one format the cheapest counts; the price of the day is live stock's to say."""
    stocked = any(offer.stock is None or offer.stock > 0 for offer in offers)
    regular = min(map(regular_price, offers))
    reduced = min((offer for offer in offers if _is_reduced(offer)), key=standing_price, default=None)
    if reduced is None or reduced.campaign is None or reduced.price_jpy >= regular:
        yield Sale(format_, regular, stocked)
        return
    days, others = running(reduced.campaign)
    yield Sale(format_, reduced.price_jpy, stocked, days)
    yield Sale(format_, regular, stocked, others)


def regular_price(offer: Offer) -> int:
    """The price while no campaign runs."""
    if offer.campaign is None or offer.format in FIXED or offer.list_price_jpy is None:
        return standing_price(offer)
    return offer.list_price_jpy


def _is_reduced(offer: Offer) -> bool:
    return offer.campaign is not None and offer.format not in FIXED and campaign_offer_problem(offer) is None
