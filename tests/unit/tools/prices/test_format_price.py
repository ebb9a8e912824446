"""The price of a title in each format, and the savings of a set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.nouns import AVAILABILITIES, DAYS
from tools.compare_prices import (
    FIXED_PRICE,
    PUBLISHERS,
    USED,
    FormatPrice,
    cheapest,
    format_prices,
)
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, WHOLE, Availability, Offer, VolumeStock
from tools.store.stock import price_for_day

PAPER_528, EBOOK = Offer(PAPER, 528, 9), Offer(DIGITAL, 480)


def row(*offers: Offer, volumes: tuple[VolumeStock, ...] = ()) -> Availability:
    return Availability("m-1", offers, volumes, "2026-11-22T00:00:00Z")


def volume(number: int, stock: int, price: int = 528, format_: str = PAPER, release: str | None = None) -> VolumeStock:
    return VolumeStock(number, None, format_, price, stock, release_date=release)


def priced(row: Availability, volumes: int | None = 3) -> dict[str, FormatPrice]:
    return {price.format: price for price in format_prices(row, volumes)}


def saving(*offers: Offer, volumes: int | None = 10) -> tuple[int, int, str] | None:
    saved = next(price.saving for price in format_prices(row(*offers), volumes) if price.format in WHOLE)
    return (saved["jpy"], saved["percent"], saved["why"]) if saved else None


def test_series_price_is_the_volume_price_times_the_volumes() -> None:
    prices = priced(row(PAPER_528, EBOOK), 10)
    assert (prices[PAPER].per_volume, prices[PAPER].series) == (528, 5_280)
    assert (prices[DIGITAL].per_volume, prices[DIGITAL].series) == (480, 4_800)


def test_series_of_unknown_length_has_no_series_price() -> None:
    prices = priced(row(PAPER_528, EBOOK, Offer(SET, 5_280, 1)), None)
    assert {name: price.series for name, price in prices.items()} == {PAPER: None, DIGITAL: None, SET: 5_280}
    assert prices[SET].saving is None


def test_volumes_with_different_prices_are_added_up() -> None:
    shelf = (volume(1, 2, 500), volume(2, 0, 528), volume(3, 4, 600), volume(4, 0, 600, release="2027-01-04"))
    price = priced(row(Offer(PAPER, 500, 6), volumes=shelf))[PAPER]
    assert (price.per_volume, price.series, price.volumes) == (500, 1_628, 2)
    assert (price.volume_now, price.first_now, price.series_now) == (500, 500, None)


def test_volume_counts_from_its_release_date_on() -> None:
    shelf = (volume(1, 2), volume(2, 1, release="2026-11-22"), volume(3, 0, release="2026-11-23"))
    price = priced(row(PAPER_528, volumes=shelf), 2)[PAPER]
    assert (price.series, price.series_now, price.volumes) == (1_056, 1_056, 2)


def test_volume_missing_from_the_shelf_costs_what_equally_priced_ones_do() -> None:
    assert priced(row(PAPER_528, volumes=(volume(1, 1), volume(2, 1))))[PAPER].series == 3 * 528
    assert priced(row(PAPER_528, volumes=(volume(1, 1), volume(2, 1, 600))))[PAPER].series is None
    assert priced(row(PAPER_528, volumes=(volume(1, 1), volume(2, 1))))[PAPER].series_now is None, "a third has come out"


def test_free_first_volume_does_not_make_the_series_free() -> None:
    assert priced(row(Offer(DIGITAL, 0)), 3)[DIGITAL].series is None
    assert priced(row(Offer(DIGITAL, 0)), 1)[DIGITAL].series == 0
    counted = tuple(volume(n, 9, 0 if n == 1 else 450, DIGITAL) for n in (1, 2, 3))
    price = priced(row(Offer(DIGITAL, 450, 27), volumes=counted))[DIGITAL]
    assert (price.per_volume, price.volume_now, price.first_now, price.series) == (450, 450, 0, 900)


def test_set_of_new_volumes_saves_nothing_at_a_fixed_price() -> None:
    assert saving(PAPER_528, Offer(SET, 5_280, 1)) == (0, 0, FIXED_PRICE)
    assert saving(PAPER_528, Offer(SET, 3_000, 1)) == (0, 0, FIXED_PRICE)
    assert priced(row(PAPER_528, Offer(SET, 3_000, 1)), 10)[SET].series == 5_280, "the volumes have a fixed price"
    assert saving(PAPER_528, Offer(SET, 6_000, 1)) == (0, 0, FIXED_PRICE)


def test_set_priced_by_its_publisher_or_used_saves_money() -> None:
    assert saving(PAPER_528, Offer(SET, 4_800, 1, 4_800)) == (480, 9, PUBLISHERS)
    assert saving(PAPER_528, Offer(USED_SET, 2_000, 1)) == (3_280, 62, USED)
    assert saving(PAPER_528, Offer(USED_SET, 9_000, 1)) == (0, 0, USED), "rare"


def test_set_has_no_saving_against_an_e_book_or_an_unknown_number_of_volumes() -> None:
    assert saving(EBOOK, Offer(USED_SET, 2_000, 1)) is None
    assert saving(PAPER_528, Offer(USED_SET, 2_000, 1), volumes=None) is None


def test_cheapest_format_is_chosen_among_those_in_stock() -> None:
    shelf = (volume(1, 0), volume(2, 4), volume(3, 4))
    prices = format_prices(row(PAPER_528, Offer(DIGITAL, 600), Offer(SET, 1_584, 0), volumes=shelf), 3)
    assert cheapest(prices, "volume_now") == {"title_id": "m-1", "format": PAPER, "jpy": 528}
    assert cheapest(prices, "first_now") == {"title_id": "m-1", "format": DIGITAL, "jpy": 600}
    assert cheapest(prices, "series_now") == {"title_id": "m-1", "format": DIGITAL, "jpy": 1_800}
    assert cheapest(format_prices(row(Offer(PAPER, 528, 0)), 3), "series_now") is None


def test_sold_out_or_unpublished_volume_is_not_the_cheapest_now() -> None:
    shelf = (volume(1, 0, 400), volume(2, 4, 600))
    prices = format_prices(row(Offer(PAPER, 400, 4), Offer(DIGITAL, 500), volumes=shelf), 2)
    assert cheapest(prices, "volume_now") == {"title_id": "m-1", "format": DIGITAL, "jpy": 500}
    assert priced(row(PAPER_528, volumes=(volume(1, 9, release="2027-01-04"),)))[PAPER].volume_now is None


def test_paper_comes_first_among_equally_cheap_formats() -> None:
    buy = cheapest(format_prices(row(Offer(DIGITAL, 528), Offer(SET, 1_584, 1), PAPER_528), 3), "series_now")
    assert buy is not None
    assert buy["format"] == PAPER


@given(AVAILABILITIES, DAYS, st.none() | st.integers(1, 60))
def test_prices_and_savings_follow_from_the_recorded_offers(known: Availability, day: str, volumes: int | None) -> None:
    """Whatever is on record: savings are never below nothing and never of new books, totals follow from the volumes, and the
    cheapest is."""
    sold = price_for_day(known, day)
    prices = format_prices(sold, volumes)
    assert sorted(price.format for price in prices) == sorted(offer.format for offer in sold.offers)
    for price in prices:
        _follows(price, sold, volumes)
    paper = next((price.series for price in prices if price.format == PAPER), None)
    for price in prices:
        _saves_rightly(price, paper)
    _is_cheapest(prices)


def _follows(price: FormatPrice, sold: Availability, volumes: int | None) -> None:
    if price.format in WHOLE:
        assert (price.per_volume, price.volume_now, price.first_now) == (None, None, None)
        return
    assert price.per_volume == price.offer.price_jpy
    own = [each for each in sold.volumes if each.format == price.format]
    shelf = [each.price_jpy for each in own if not sold.is_awaited(each)]
    there = [each.price_jpy for each in own if each.stock and not sold.is_awaited(each)]
    assert not own or price.volume_now == min(filter(None, there), default=0 if there else None)
    if volumes is None:
        assert price.series is None
    elif len(shelf) == volumes:
        assert price.series == sum(shelf)
    elif price.series is not None:
        assert price.series == volumes * (shelf[0] if shelf else price.per_volume)


def _saves_rightly(price: FormatPrice, paper: int | None) -> None:
    saved = price.saving
    if saved is None:
        assert price.format not in WHOLE or not paper
        return
    assert price.format in WHOLE
    assert paper is not None
    assert price.series is not None
    assert 0 <= saved["jpy"] == max(0, paper - price.series) if saved["jpy"] else saved["percent"] == 0
    assert saved["jpy"] * 100 >= saved["percent"] * paper, "never more than it is"
    if price.format == SET and price.offer.list_price_jpy is None:
        assert (saved["jpy"], saved["why"]) == (0, FIXED_PRICE)
        assert price.series >= paper


def _is_cheapest(prices: tuple[FormatPrice, ...]) -> None:
    for name in ("volume_now", "first_now", "series_now"):
        costs = [cost for price in prices if (cost := getattr(price, name)) is not None]
        buy = cheapest(prices, name)
        assert (buy["jpy"] if buy else None) == min(costs, default=None)
