"""Which is cheapest, of what can be had now: nobody is helped by the price of what is sold out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.prices.format_price import FormatPrice


@dataclass(frozen=True, slots=True)
class Buy:
    """Yen for something that can be had now in a format."""

    format: str
    jpy: int


def cheapest_volume(prices: Sequence[FormatPrice]) -> Buy | None:
    """A volume, whichever."""
    return least(Buy(each.format, each.per_volume) for each in prices if each.available and each.per_volume is not None)


def cheapest_start(prices: Sequence[FormatPrice]) -> Buy | None:
    """Volume 1."""
    return least(Buy(each.format, each.first) for each in prices if each.begins and each.first is not None)


def cheapest_whole(prices: Sequence[FormatPrice]) -> Buy | None:
    """All volumes that have come out."""
    return least(Buy(each.format, each.series) for each in prices if each.whole and each.series is not None)


def least(buys: Iterable[Buy]) -> Buy | None:
    """Of equally cheap ones the first."""
    return min(buys, key=lambda buy: buy.jpy, default=None)
