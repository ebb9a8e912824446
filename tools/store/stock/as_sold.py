"""What is on record of a title's offers, as it is sold on a day."""

from __future__ import annotations

from dataclasses import replace

from tools.store.models import PAPER, SET, Availability, Campaign, Offer
from tools.store.models.offer import FIXED, new_set_price, standing_price


def as_sold(row: Availability, day: str) -> Availability:
    """The row with the prices of `day` (YYYY-MM-DD in Japan): campaigns that run carry the date of their end, others are
    gone and the list price is asked for. New books have their publisher's price, whatever discount is on record, and of a
    new set there are as many as copies of its scarcest volume."""
    offers = tuple(_of_new_books(offer, row) if offer.format in FIXED else _on(offer, day) for offer in row.offers)
    return row if offers == row.offers else replace(row, offers=offers)


def _of_new_books(offer: Offer, row: Availability) -> Offer:
    if offer.format != SET:
        return replace(offer, price_jpy=standing_price(offer), list_price_jpy=None, campaign=None)
    today = row.day
    out = [v for v in row.volumes if v.format == PAPER and (v.release_date is None or v.release_date <= today)]
    if not out:
        return replace(offer, price_jpy=standing_price(offer), campaign=None)
    price, scarcest = new_set_price(offer, sum([v.price_jpy for v in out])), min([v.stock for v in out])
    sets = scarcest if offer.stock is None else min(scarcest, offer.stock)
    return replace(offer, price_jpy=price, stock=sets, campaign=None)


def _on(offer: Offer, day: str) -> Offer:
    if offer.campaign is None:
        return offer if _reduced(offer) else replace(offer, list_price_jpy=None)
    end = offer.campaign.end(day)
    if end is not None:
        return replace(offer, campaign=Campaign(end, name=offer.campaign.name))
    regular = offer.list_price_jpy if offer.list_price_jpy is not None else offer.price_jpy
    return replace(offer, price_jpy=regular, list_price_jpy=None, campaign=None)


def _reduced(offer: Offer) -> bool:
    return offer.list_price_jpy is not None and offer.list_price_jpy > offer.price_jpy
