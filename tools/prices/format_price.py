"""What a title costs in one format: a volume, and all that have come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.prices.saving import Saving, saving_of
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, WHOLE, Availability, Offer, VolumeStock
from tools.store.models.offer import new_set_price

_ORDER = (PAPER, DIGITAL, SET, USED_SET)


@dataclass(frozen=True, slots=True)
class FormatPrice:
    """`per_volume` (the lowest there is), `first` (volume 1) and `series` are yen; None is not known, or a set's, which has
    only the last. `available`, `begins` and `whole`: any volume, volume 1, and every volume can be had now. `volumes`: how
    many of them are there, None where the store does not count by volume."""

    offer: Offer
    per_volume: int | None
    first: int | None
    series: int | None
    available: bool
    begins: bool
    whole: bool
    volumes: int | None = None
    saving: Saving | None = None

    @property
    def format(self) -> str:
        return self.offer.format


def format_prices(row: Availability, volumes: int | None) -> tuple[FormatPrice, ...]:
    """One for each offer, paper first. `volumes`: how many the title has, None where that is not known."""
    single = [_by_volume(offer, row, volumes) for offer in row.offers if offer.format not in WHOLE]
    singles = next((price.series for price in single if price.format == PAPER), None)
    whole = [_of_set(offer, singles) for offer in row.offers if offer.format in WHOLE]
    return tuple(sorted((*single, *whole), key=_place))


def _place(price: FormatPrice) -> int:
    return _ORDER.index(price.format) if price.format in _ORDER else len(_ORDER)


def _by_volume(offer: Offer, row: Availability, volumes: int | None) -> FormatPrice:
    out = [volume for volume in row.volumes if volume.format == offer.format and not row.awaited(volume)]
    if not out:
        left, series = _left(offer), _times(offer.price_jpy, volumes)
        return FormatPrice(offer, offer.price_jpy, offer.price_jpy, series, left, left, left)
    there = [volume for volume in out if volume.stock]
    first = next((volume for volume in out if volume.volume == 1), None)
    return FormatPrice(
        offer,
        offer.price_jpy,
        first.price_jpy if first else None,
        _sum(out, volumes),
        available=bool(there),
        begins=first in there,
        whole=len(there) == len(out) >= (volumes or 0),
        volumes=len(there),
    )


def _times(price: int, volumes: int | None) -> int | None:
    """A free first volume is how a digital series begins: it says nothing of what the others cost."""
    return None if volumes is None or (price == 0 and volumes > 1) else price * volumes


def _sum(out: Sequence[VolumeStock], volumes: int | None) -> int | None:
    """Where the shelf does not hold the whole series, the others cost the same only if all that it holds do."""
    if len(out) == volumes:
        return sum(volume.price_jpy for volume in out)
    prices = {volume.price_jpy for volume in out}
    return _times(prices.pop(), volumes) if len(prices) == 1 else None


def _of_set(offer: Offer, singles: int | None) -> FormatPrice:
    """`singles`: what all volumes cost one by one, new."""
    price = new_set_price(offer, singles) if offer.format == SET and singles is not None else offer.price_jpy
    left, as_sold = _left(offer), replace(offer, price_jpy=price)
    return FormatPrice(as_sold, None, None, price, left, begins=False, whole=left, saving=saving_of(as_sold, singles))


def _left(offer: Offer) -> bool:
    return offer.stock is None or offer.stock > 0
