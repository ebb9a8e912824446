from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from tools.store.models.values import MOST, CampaignDay, Count, Day, Rank, Text, TitleId, Yen, day_in_japan

_OF_THE_YEAR = len("MM-DD")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A price campaign from the day `start` to the end of the day `until`, in Japan. Days are dates (YYYY-MM-DD) or, for a
    yearly campaign, days of the year (MM-DD), possibly over the New Year. A campaign without a start has already begun."""

    until: CampaignDay
    start: CampaignDay | None = None
    name: Text | None = None

    @property
    def yearly(self) -> bool:
        return len(self.until) == _OF_THE_YEAR

    def end(self, day: str) -> str | None:
        """Returns the end date of the campaign if it runs on `day` (both YYYY-MM-DD); None if it does not, or is invalid."""
        if campaign_problem(self):
            return None
        if not self.yearly:
            return self.until if (self.start or day) <= day <= self.until else None
        start, today, year = self.start or "", day[-_OF_THE_YEAR:], int(day[:4])
        if start <= self.until:
            return f"{year:04}-{self.until}" if start <= today <= self.until else None
        if self.until < today < start:
            return None
        return f"{year + (today >= start):04}-{self.until}"


def campaign_problem(campaign: Campaign) -> str | None:
    """Returns why the campaign's days are invalid; None if they are valid."""
    if campaign.yearly and campaign.start is None:
        return "comes back every year, so it needs a start"
    if campaign.start is not None and len(campaign.start) != len(campaign.until):
        return "has a start and an end of two kinds: both YYYY-MM-DD, or both MM-DD"
    if campaign.start is not None and not campaign.yearly and campaign.start > campaign.until:
        return "ends before it starts"
    return None


PAPER, DIGITAL = "physical", "digital"
"""Formats that are sold by the volume."""
SET, USED_SET = "set", "used_set"
"""Formats in which all paper volumes of a title are sold at once, new and used."""
WHOLE = frozenset({SET, USED_SET})
"""Formats whose price is for the whole series and not for one volume."""
FIXED = frozenset({PAPER, SET})
"""Formats that are new books: their publisher fixes the price for every shop (resale price maintenance), so that a lower one
on record is a mistake. E-books and used books are exempt."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A way to buy a title: its price and stock in one format. `stock` is None if copies do not run out (digital).

    `price_jpy` is the asked price, of one volume or of a whole set. `list_price_jpy` is the price without a discount or, for
    new books, the price fixed by the publisher, which then applies, whatever the `campaign`. Any other offer with a
    `campaign` costs `price_jpy` while it runs, and the list price at any other time."""

    format: Text
    price_jpy: Yen
    stock: Count | None = None
    list_price_jpy: Yen | None = None
    campaign: Campaign | None = None


def price_problem(format_: str, price_jpy: int) -> str | None:
    """Returns why a price is invalid; None if it is valid. A price of 0 is valid only for digital, where a series often
    begins with a free volume."""
    if price_jpy > 0 or (price_jpy == 0 and format_ == DIGITAL):
        return None
    return f"must be {'at least' if format_ == DIGITAL else 'more than'} 0 ({format_})"


def campaign_offer_problem(offer: Offer) -> str | None:
    """Returns why the offer's campaign is invalid; None if it is valid or absent."""
    if offer.campaign is None:
        return None
    if offer.list_price_jpy is None or offer.list_price_jpy <= offer.price_jpy:
        return "needs a list_price_jpy above price_jpy, which is asked for again when it is over"
    return campaign_problem(offer.campaign)


def standing_price(offer: Offer) -> int:
    """Returns the price while any campaign runs: for new books the publisher's, if recorded; else `price_jpy`."""
    fixed = offer.list_price_jpy if offer.format in FIXED else None
    return offer.price_jpy if fixed is None else fixed


def new_set_price(offer: Offer, singles_jpy: int) -> int:
    """Returns the price of a set of new volumes: the publisher's set price if recorded; else the offer's price, or
    `singles_jpy`, the price of the single volumes, if that is higher."""
    return offer.list_price_jpy if offer.list_price_jpy is not None else max(offer.price_jpy, singles_jpy)


@dataclass(frozen=True, slots=True)
class VolumeStock:
    """The price and stock of one volume in one format. `isbn` is an ISBN-13, None if there is none (digital). Until
    `release_date`, if known, the volume can only be pre-ordered; `restock_date` is the day on which a sold-out volume
    returns, None if unknown. Dates are YYYY-MM-DD."""

    volume: Count
    isbn: Text | None
    format: Text
    price_jpy: Yen
    stock: Count
    restock_date: Day | None = None
    release_date: Day | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """Stock and prices of one title at the time `as_of`. `volumes` is empty if the store counts copies by title only."""

    title_id: str
    offers: tuple[Offer, ...]
    volumes: tuple[VolumeStock, ...]
    as_of: str

    def is_awaited(self, volume: VolumeStock) -> bool:
        """True if the volume was not yet released at `as_of`."""
        return volume.release_date is not None and volume.release_date > self.day

    @property
    def day(self) -> str:
        """The day of `as_of` in Japan, YYYY-MM-DD."""
        return _day_of(self.as_of)


@dataclass(frozen=True, slots=True)
class AvailabilityPage:
    """Stock rows by title id. `unanswered` ids were not read in time; other missing ids are not sold."""

    rows: Mapping[str, Availability]
    unanswered: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def _day_of(moment: str) -> str:
    return day_in_japan(datetime.fromisoformat(moment)).isoformat()


def offer_of(format_: str, volumes: Sequence[VolumeStock]) -> Offer:
    """Returns the offer of a format from its volumes: all copies, at the lowest price above 0. The price is 0 only if every
    volume is free."""
    prices = [volume.price_jpy for volume in volumes]
    copies = sum([volume.stock for volume in volumes])
    return Offer(format_, min(filter(None, prices), default=0), min(copies, MOST))


@dataclass(frozen=True, slots=True)
class Release:
    """The release of a volume in one format. `popularity_rank` (None: unknown) and `adult` are copied from its title, so
    that a month can be listed without reading the titles."""

    title_id: TitleId
    volume: Count
    format: Text
    date: Day
    popularity_rank: Rank | None = None
    adult: bool = False

    @property
    def month(self) -> str:
        """The month of the release, YYYY-MM."""
        return self.date[:7]

    @property
    def place(self) -> tuple[str, float, str, str, int]:
        """The sort key within a month: by date, then most popular first."""
        rank = math.inf if self.popularity_rank is None else self.popularity_rank
        return self.date, rank, self.title_id, self.format, self.volume
