"""A way to buy a title, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models.campaign import Campaign, campaign_problem
from tools.store.models.values import Count, Text, Yen

PAPER, DIGITAL = "physical", "digital"
"""Formats that are sold by the volume."""
SET, USED_SET = "set", "used_set"
"""All paper volumes of a title at once: new ones, and used ones."""
WHOLE = frozenset({SET, USED_SET})
"""Formats in which a price is that of the whole series, so that it says nothing of what a volume costs."""
FIXED = frozenset({PAPER, SET})
"""Formats that are new books: their publisher fixes the price for every shop (resale price maintenance), so that a lower one
on record is a mistake. E-books and used books are exempt."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to buy a title. `stock` is None where copies do not run out (digital).

    `price_jpy` is what is asked for it: one volume, or all of a set. `list_price_jpy` is the price without a discount or,
    of new books, the publisher's own, which stands; that of a set where the publisher sells one. With a `campaign` the
    price is asked for as long as that runs, and the list price at any other time.
    """

    format: Text
    price_jpy: Yen
    stock: Count | None = None
    list_price_jpy: Yen | None = None
    campaign: Campaign | None = None


def price_problem(format_: str, price_jpy: int) -> str | None:
    """Why something cannot cost so much; None when it can. A free first volume is how a digital series begins; nobody gives
    paper away, so that 0 yen is a mistake there."""
    least = 0 if format_ == DIGITAL else 1
    return None if price_jpy >= least else f"must be at least {least} ({format_})"


def campaign_offer_problem(offer: Offer) -> str | None:
    """Why an offer cannot be on a campaign so; None when it can, or is on none."""
    if offer.campaign is None:
        return None
    if offer.list_price_jpy is None or offer.list_price_jpy <= offer.price_jpy:
        return "needs a list_price_jpy above price_jpy, which is asked for again when it is over"
    return campaign_problem(offer.campaign)


def standing_price(offer: Offer) -> int:
    """What is asked for one at the least: of new books the publisher's own price, where it is on record."""
    fixed = offer.list_price_jpy if offer.format in FIXED else None
    return offer.price_jpy if fixed is None else fixed


def new_set_price(offer: Offer, singles_jpy: int) -> int:
    """What a set of new volumes costs that cost `singles_jpy` one by one: no less, unless its publisher sells it so."""
    return offer.list_price_jpy if offer.list_price_jpy is not None else max(offer.price_jpy, singles_jpy)
