"""A volume, and all that is known of the stock of a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from tools.store.japan import day_in_japan
from tools.store.models.offer import Offer
from tools.store.models.values import MOST, Count, Day, Text, Yen


@dataclass(frozen=True, slots=True)
class VolumeStock:
    """The unit that is sold: a volume with its ISBN-13 (None for digital).

    `release_date` is the day it comes out or came out, as far as that is known: until then it can only be pre-ordered.
    Dates are YYYY-MM-DD.
    """

    volume: Count
    isbn: Text | None
    format: Text
    price_jpy: Yen
    stock: Count
    restock_date: Day | None = None
    release_date: Day | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """Stock and price of one title at `as_of`. `volumes` is empty where the store counts by title only."""

    title_id: str
    offers: tuple[Offer, ...]
    volumes: tuple[VolumeStock, ...]
    as_of: str

    def awaited(self, volume: VolumeStock) -> bool:
        """Whether one of its volumes had still to come out at `as_of`."""
        return volume.release_date is not None and volume.release_date > self.day

    @property
    def day(self) -> str:
        """That of `as_of` in Japan, YYYY-MM-DD."""
        return _day_of(self.as_of)


@dataclass(frozen=True, slots=True)
class AvailabilityPage:
    """`unanswered` are ids the backend did not get to in time; ids in neither are not sold here."""

    rows: Mapping[str, Availability]
    unanswered: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def _day_of(moment: str) -> str:
    """Asked of each volume of a row, and what was read together is of one moment."""
    return day_in_japan(datetime.fromisoformat(moment)).isoformat()


def offer_of(format_: str, volumes: Sequence[VolumeStock]) -> Offer:
    """What is sold in a format that is counted by volumes: all copies, at the lowest price that is paid for one. 0 yen only
    where every volume is free: a first one that is says nothing of the others."""
    prices = [volume.price_jpy for volume in volumes]
    copies = sum([volume.stock for volume in volumes])
    return Offer(format_, min(filter(None, prices), default=0), min(copies, MOST))
