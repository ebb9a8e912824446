"""Amounts in a query: in the shop's currency, and in others."""

from __future__ import annotations

from tests.support.cases import cases
from tests.support.named_catalog import NamedCatalog
from tests.support.reading import read, titles_of_terms
from tools.store.currency import YEN, Currency
from tools.store.models import Range
from tools.store.search.reading.reader import Reader

USD, EUR = Currency("USD"), Currency("EUR")


def reader_of(currency: Currency) -> Reader:
    return Reader(NamedCatalog(titles_of_terms()), currency=currency)


@cases(
    ("currency", "text", "most"),
    [
        (USD, "romance under $7.50", 749),
        (USD, "romance, 7 dollars or less", 700),
        (USD, "romance for at most 7.50 USD a volume", 750),
        (USD, "my budget is 12", 1200),
        (USD, "romance, budget 4.50", 450),
        (USD, "romance less than twenty bucks", 1999),
        (USD, "7ドル以内の恋愛漫画", 700),
        (EUR, "romance for 8 euros or less", 800),
        (EUR, "romance up to 8 €", 800),
        (EUR, "予算10ユーロの恋愛漫画", 1000),
        (Currency("SEK"), "romance for at most 79 sek", 7900),
        (YEN, "romance under ¥700", 699),
        (YEN, "romance under 700", 699),
    ],
)
def test_price_limit_is_read_in_the_shop_currency(currency: Currency, text: str, most: int) -> None:
    assert read(text, reader_of(currency)).conditions.price == Range(None, most)


@cases(
    ("currency", "text"),
    [
        (USD, "romance under 700 yen"),
        (USD, "romance under ¥700"),
        (USD, "700円以内の恋愛漫画"),
        (USD, "romance for €7"),
        (YEN, "romance under $7"),
        (YEN, "romance under 7 dollars"),
        (YEN, "7ドル以内の恋愛漫画"),
    ],
)
def test_amount_in_another_currency_is_reported_and_not_obeyed(currency: Currency, text: str) -> None:
    found = read(text, reader_of(currency))
    assert found.conditions.price == found.conditions.series_price == Range()
    assert any(not each.obeyed for each in found.understood)
    assert found.conditions.tags == (("Romance",),)


@cases(
    "text",
    ["romance volumes 3 to 7", "spend 2 hours with a romance", "a romance that won an award", "the idol アイドル romance"],
)
def test_number_that_is_no_amount_sets_no_price(text: str) -> None:
    found = read(text, reader_of(USD))
    assert found.conditions.price == found.conditions.series_price == Range()
    assert all(each.obeyed for each in found.understood)


def test_large_amount_limits_the_series_price() -> None:
    assert read("romance for under $80", reader_of(USD)).conditions.series_price == Range(None, 7999)
    assert read("romance, the whole series under $40", reader_of(USD)).conditions.series_price == Range(None, 3999)


@cases(
    "text",
    ["heist, between $7 and $8", "heist, $7 to $8", "heist from $7 to $8", "heist, $7-$8", "heist, between 7 and 8 dollars"],
)
def test_price_range_is_read_and_told_in_the_shop_currency(text: str) -> None:
    found = read(text, reader_of(USD))
    assert found.conditions.price == Range(700, 800)
    assert "$7 to $8 a volume" in [each.condition for each in found.understood]
