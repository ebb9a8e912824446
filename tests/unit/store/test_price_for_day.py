"""What is on record of offers, as it is sold on a day."""

from __future__ import annotations

from hypothesis import given

from tests.support.cases import cases
from tests.support.nouns import AVAILABILITIES, DAYS
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, Availability, Campaign, Offer, VolumeStock
from tools.store.stock import DayPrices, price_for_day

TODAY = "2026-11-22"
FAIR = Campaign("12-15", "11-15", "Fair")


def row(*offers: Offer, volumes: tuple[VolumeStock, ...] = ()) -> Availability:
    return Availability("m-1", offers, volumes, "2026-11-22T00:00:00Z")


def volume(number: int, stock: int, price: int = 500, release_date: str | None = None) -> VolumeStock:
    return VolumeStock(number, None, PAPER, price, stock, release_date=release_date)


def sold(offer: Offer, *volumes: VolumeStock, day: str = TODAY) -> Offer:
    (told,) = price_for_day(row(offer, volumes=volumes), day).offers
    return told


def test_a_campaign_that_runs_has_the_date_of_its_end() -> None:
    assert sold(Offer(DIGITAL, 300, None, 480, FAIR)) == Offer(DIGITAL, 300, None, 480, Campaign("2026-12-15", name="Fair"))


@cases("day", ["2026-11-14", "2026-12-16"])
def test_at_any_other_time_the_list_price_is_asked_for(day: str) -> None:
    assert sold(Offer(DIGITAL, 300, None, 480, FAIR), day=day) == Offer(DIGITAL, 480)


def test_a_campaign_that_is_over_and_had_no_list_price_leaves_the_price_alone() -> None:
    assert sold(Offer(DIGITAL, 300, None, None, Campaign("2026-11-21"))) == Offer(DIGITAL, 300)


def test_an_e_book_may_be_reduced_for_good_and_never_raised() -> None:
    assert sold(Offer(DIGITAL, 300, None, 480)) == Offer(DIGITAL, 300, None, 480)
    assert sold(Offer(DIGITAL, 480, None, 300)) == Offer(DIGITAL, 480)


@cases("campaign", [None, FAIR])
def test_new_paper_has_its_publishers_price_whatever_discount_is_on_record(campaign: Campaign | None) -> None:
    assert sold(Offer(PAPER, 400, 3, 528, campaign)) == Offer(PAPER, 528, 3)


def test_a_new_set_costs_no_less_than_its_volumes_and_is_there_as_often_as_the_scarcest() -> None:
    shelf = (volume(1, 9), volume(2, 2, 550), volume(3, 0, release_date="2027-01-04"))
    assert sold(Offer(SET, 900, 5), *shelf) == Offer(SET, 1_050, 2)
    assert sold(Offer(SET, 1_200, 1), *shelf) == Offer(SET, 1_200, 1), "with a box, say"
    assert sold(Offer(SET, 1_050), *shelf) == Offer(SET, 1_050, 2)
    assert sold(Offer(SET, 900, 5), volume(1, 9), volume(2, 3, release_date="2026-11-20")) == Offer(SET, 1_000, 3)


def test_a_set_with_a_price_of_its_publishers_own_has_that() -> None:
    assert sold(Offer(SET, 700, 5, 900), volume(1, 9), volume(2, 9)).price_jpy == 900
    assert sold(Offer(SET, 700, 5, 900)).price_jpy == 900


def test_a_used_set_is_as_it_is_on_record() -> None:
    assert sold(Offer(USED_SET, 300, 1), volume(1, 0), volume(2, 0)) == Offer(USED_SET, 300, 1)


@given(AVAILABILITIES, DAYS)
def test_what_is_sold_is_the_same_when_it_is_read_again(known: Availability, day: str) -> None:
    told = price_for_day(known, day)
    assert price_for_day(told, day) == told
    assert [offer.format for offer in told.offers] == [offer.format for offer in known.offers]
    assert all(offer.campaign is None or offer.campaign.until >= day for offer in told.offers)


def test_prices_of_a_day_are_worked_out_once_for_each_row_and_day() -> None:
    prices, read = DayPrices(10), row(Offer(DIGITAL, 300, None, 480, FAIR))
    told = prices.compute_sale(read, TODAY)
    assert told == price_for_day(read, TODAY)
    assert prices.compute_sale(read, TODAY) is told
    assert prices.compute_sale(read, "2026-12-16") == price_for_day(read, "2026-12-16") != told
    assert prices.compute_sale(row(Offer(DIGITAL, 200)), TODAY).offers == (Offer(DIGITAL, 200),), "read again, and cheaper"
