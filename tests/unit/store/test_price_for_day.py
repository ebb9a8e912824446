"""The price of a recorded offer on a given day."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given

from tests.support.cases import cases
from tests.support.nouns import AVAILABILITIES, DAYS
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, Availability, Campaign, Offer, VolumeStock
from tools.store.stock import StockReader, price_for_day

TODAY = "2026-11-22"
FAIR = Campaign("12-15", "11-15", "Fair")


def row(*offers: Offer, volumes: tuple[VolumeStock, ...] = ()) -> Availability:
    return Availability("m-1", offers, volumes, "2026-11-22T00:00:00Z")


def volume(number: int, stock: int, price: int = 500, release_date: str | None = None) -> VolumeStock:
    return VolumeStock(number, None, PAPER, price, stock, release_date=release_date)


def sold(offer: Offer, *volumes: VolumeStock, day: str = TODAY) -> Offer:
    (told,) = price_for_day(row(offer, volumes=volumes), day).offers
    return told


def test_running_campaign_keeps_its_price_and_end_date() -> None:
    assert sold(Offer(DIGITAL, 300, None, 480, FAIR)) == Offer(DIGITAL, 300, None, 480, Campaign("2026-12-15", name="Fair"))


@cases("day", ["2026-11-14", "2026-12-16"])
def test_list_price_applies_outside_the_campaign(day: str) -> None:
    assert sold(Offer(DIGITAL, 300, None, 480, FAIR), day=day) == Offer(DIGITAL, 480)


def test_expired_campaign_without_a_list_price_keeps_the_price() -> None:
    assert sold(Offer(DIGITAL, 300, None, None, Campaign("2026-11-21"))) == Offer(DIGITAL, 300)


def test_e_book_price_may_be_below_the_list_price_and_never_above() -> None:
    assert sold(Offer(DIGITAL, 300, None, 480)) == Offer(DIGITAL, 300, None, 480)
    assert sold(Offer(DIGITAL, 480, None, 300)) == Offer(DIGITAL, 480)


@cases("campaign", [None, FAIR])
def test_new_paper_volume_costs_the_list_price_whatever_discount_is_recorded(campaign: Campaign | None) -> None:
    assert sold(Offer(PAPER, 400, 3, 528, campaign)) == Offer(PAPER, 528, 3)


def test_new_set_costs_at_least_its_volumes_and_has_the_stock_of_the_scarcest() -> None:
    shelf = (volume(1, 9), volume(2, 2, 550), volume(3, 0, release_date="2027-01-04"))
    assert sold(Offer(SET, 900, 5), *shelf) == Offer(SET, 1_050, 2)
    assert sold(Offer(SET, 1_200, 1), *shelf) == Offer(SET, 1_200, 1), "with a box, say"
    assert sold(Offer(SET, 1_050), *shelf) == Offer(SET, 1_050, 2)
    assert sold(Offer(SET, 900, 5), volume(1, 9), volume(2, 3, release_date="2026-11-20")) == Offer(SET, 1_000, 3)


def test_set_with_a_list_price_of_its_own_costs_that() -> None:
    assert sold(Offer(SET, 700, 5, 900), volume(1, 9), volume(2, 9)).price_jpy == 900
    assert sold(Offer(SET, 700, 5, 900)).price_jpy == 900


def test_used_set_is_sold_as_recorded() -> None:
    assert sold(Offer(USED_SET, 300, 1), volume(1, 0), volume(2, 0)) == Offer(USED_SET, 300, 1)


@given(AVAILABILITIES, DAYS)
def test_price_for_a_day_is_idempotent(known: Availability, day: str) -> None:
    told = price_for_day(known, day)
    assert price_for_day(told, day) == told
    assert [offer.format for offer in told.offers] == [offer.format for offer in known.offers]
    assert all(offer.campaign is None or offer.campaign.until >= day for offer in told.offers)


def test_prices_of_a_day_are_computed_once_per_row_and_day() -> None:
    today = datetime.fromisoformat(f"{TODAY}T12:00:00+09:00")
    no_port: Any = None
    reader = StockReader(no_port, now=lambda: today)
    read = row(Offer(DIGITAL, 300, None, 480, FAIR))
    reader.adopt(read, age=1)
    told = reader.last_known(["m-1"])["m-1"]
    assert told == price_for_day(read, TODAY)
    assert reader.last_known(["m-1"])["m-1"] is told
    today += timedelta(days=200)
    assert reader.last_known(["m-1"])["m-1"] == price_for_day(read, today.date().isoformat()) != told
    reader.adopt(row(Offer(DIGITAL, 200)), age=0)
    assert reader.last_known(["m-1"])["m-1"].offers == (Offer(DIGITAL, 200),), "read again, and cheaper"
