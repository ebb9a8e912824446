"""A shop has one currency: the names, the form and the wording of its amounts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.registry import TOOLS, Registry
from tools.store.backends.dynamodb.items import (
    decode_stock,
    from_currency,
    in_currency,
    order_item,
    order_of,
    stock_item,
)
from tools.store.currency import YEN, Currency, codes
from tools.store.identifiers import Identifiers
from tools.store.models import Offer, Order, OrderLine, VolumeStock
from tools.store.shape import ShapeError

USD, KWD, KRW = Currency("USD"), Currency("KWD"), Currency("KRW")
LINE = OrderLine("hb-00001", "Glass Dominion", 3, None, "physical", 2, 899)
ORDER = Order("HBK-4100037", "paid", "2026-11-10T09:30:00Z", (LINE,), 1798, 595, 2393, "Oregon")


@cases(
    ("code", "smallest", "en", "ja"),
    [
        ("JPY", 12_600, "12,600 yen", "12,600円"),
        ("USD", 700, "$7", "7ドル"),
        ("USD", 123_450, "$1,234.50", "1,234.50ドル"),
        ("EUR", 799, "€7.99", "7.99ユーロ"),
        ("KRW", 6_500, "₩6,500", "6,500ウォン"),
        ("SEK", 7_950, "SEK 79.50", "79.50 SEK"),
        ("KWD", 2_125, "KWD 2.125", "2.125 KWD"),
    ],
)
def test_amount_is_formatted_and_parsed_in_both_languages(code: str, smallest: int, en: str, ja: str) -> None:
    assert Currency(code).say(smallest) == en
    assert Currency(code).say(smallest, "ja") == ja
    assert Currency(code).parse_amount(en) == Currency(code).parse_amount(ja) == smallest


@cases("text", ["700 yen", "7.999", "about seven", "$", "", "-7", "€7", "7 dollars off"])
def test_malformed_amount_is_parsed_as_none(text: str) -> None:
    assert USD.parse_amount(text) is None


@cases("text", ["", "dollar", "USDT", "XXX", "¥"])
def test_currency_that_is_not_in_iso_4217_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 4217"):
        Currency.parse(text)


def test_currency_code_is_read_in_any_case() -> None:
    assert Currency.parse("usd") == USD
    assert all(len(each) == 3 for each in codes())


def test_answer_has_the_currency_in_its_field_names() -> None:
    answer = {
        "price_jpy": 799,
        "saving": {"jpy": 100, "percent": 9},
        "note": "price_jpy is of one volume",
        "offers": [{"price_jpy": None}],
    }
    assert USD.show(answer) == {
        "price_usd": 7.99,
        "saving": {"usd": 1.0, "percent": 9},
        "note": "price_usd is of one volume",
        "offers": [{"price_usd": None}],
    }
    assert KRW.show({"total_jpy": 6_500}) == {"total_krw": 6_500}
    assert YEN.show(answer) is answer


@given(st.integers(0, 10**9))
def test_argument_in_shop_currency_converts_back_to_the_internal_amount(smallest: int) -> None:
    for currency in (USD, KWD, KRW, YEN):
        assert currency.arguments(currency.show({"max_price_jpy": smallest})) == {"max_price_jpy": smallest}


def test_tool_schemas_name_no_currency_but_that_of_the_shop() -> None:
    """The properties are the same otherwise, and a shop of yen has the unchanged schemas."""
    own, yen = Registry(TOOLS, identifiers=Identifiers(currency=USD)), Registry(TOOLS)
    for tool, usual in zip(own, yen, strict=True):
        assert "jpy" not in f"{tool.input_schema} {tool.output_schema} {tool.description} {tool.remembered} {tool.sheds}"
        assert names(tool.output_schema) == [each.replace("jpy", "usd") for each in names(usual.output_schema)]
    search = own.get("search_manga_catalog")
    assert search is not None
    most = search.tool.input_schema["properties"]["max_price_usd"]
    assert (most["type"], most["maximum"]) == ("number", 10_000)


def names(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        return [*schema.get("properties", {}), *(name for each in schema.values() for name in names(each))]
    return [name for each in schema for name in names(each)] if isinstance(schema, list) else []


def test_stored_items_hold_amounts_in_the_shop_currency_and_are_read_back() -> None:
    offers, volumes = [Offer("digital", 499)], [VolumeStock(1, None, "physical", 899, 3)]
    stock = in_currency(USD, stock_item("hb-00001", offers, volumes))
    assert stock["offers"]["M"]["digital"]["M"]["price_usd"] == {"N": "4.99"}
    usual = decode_stock(stock_item("hb-00001", offers, volumes), "2026-11-01T00:00:00Z")
    assert decode_stock(from_currency(USD, stock), "2026-11-01T00:00:00Z") == usual
    bought = in_currency(USD, order_item("reader", ORDER))
    assert (bought["total_usd"], bought["lines"]["L"][0]["M"]["unit_price_usd"]) == ({"N": "23.93"}, {"N": "8.99"})
    assert order_of(from_currency(USD, bought), "reader", ORDER.order_id) == ORDER


def test_stored_item_in_another_currency_is_refused() -> None:
    """Otherwise cents would be read as yen."""
    stock = in_currency(USD, stock_item("hb-00001", [Offer("digital", 499)], []))
    with pytest.raises(ShapeError, match="price_jpy"):
        decode_stock(from_currency(YEN, stock), "2026-11-01T00:00:00Z")
