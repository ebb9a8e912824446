"""What shipping costs, by the region of an address."""

from __future__ import annotations

import pytest

from infra.demo.shipping import REGIONS, region_of, shipping_fee
from tests.support.cases import cases


@cases(
    ("prefecture", "fee"),
    [
        ("Tokyo", 680),
        ("Niigata", 680),
        ("Osaka", 680),
        ("Aomori", 950),
        ("Fukuoka", 950),
        ("Hokkaido", 1700),
        ("Okinawa", 2000),
    ],
)
def test_shipping_fee_depends_on_the_region(prefecture: str, fee: int) -> None:
    assert shipping_fee(prefecture, 7999) == fee


def test_shipping_is_free_from_eight_thousand_yen_within_japan() -> None:
    assert shipping_fee("Okinawa", 8000) == 0
    assert shipping_fee("Taiwan", 8000) == 2200


def test_shipping_of_nothing_is_free() -> None:
    assert shipping_fee("Tokyo", 0) == 0


def test_a_letterbox_costs_the_same_everywhere() -> None:
    assert shipping_fee("Tokyo", 1000, letterbox=True) == shipping_fee("Okinawa", 1000, letterbox=True) == 385


def test_every_prefecture_has_one_region() -> None:
    names = [name for group in REGIONS.values() for name in group.split()]
    assert len(names) == len(set(names)) == 48


def test_a_prefecture_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such prefecture: Edo"):
        region_of("Edo")
