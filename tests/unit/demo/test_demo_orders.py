"""The committed sample orders, judged by rules written down a second time here, not by the code that made them."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from infra.demo.generate import FOLDER

Record = dict[str, Any]

REFERENCE = date(2026, 11, 20)
STATES = {
    "received": "新規受付",
    "payment_pending": "決済処理中",
    "paid": "入金済み",
    "in_preparation": "対応中",
    "shipped": "発送済み",
    "cancelled": "注文取消し",
    "returned": "返品",
}
FEES = {"Tokyo": 680, "Osaka": 680, "Fukuoka": 950, "Hokkaido": 1700, "Okinawa": 2000, "Taiwan": 2200}


def read(name: str) -> list[Record]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def day_in_japan(moment: str) -> date:
    return (datetime.fromisoformat(moment) + timedelta(hours=9)).date()


@pytest.fixture(scope="module")
def orders() -> list[Record]:
    return read("orders.jsonl")


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    return {record["title_id"]: record["title"]["en"] for record in read("catalog.jsonl")}


@pytest.fixture(scope="module")
def prices() -> dict[tuple[str, str], int]:
    """Of a title in a format."""
    records = read("catalog.jsonl")
    return {(r["title_id"], offer["format"]): offer["price_jpy"] for r in records for offer in r["offers"]}


@pytest.fixture(scope="module")
def volumes() -> dict[tuple[str, int], Record]:
    return {(volume["title_id"], volume["volume"]): volume for volume in read("volumes.jsonl")}


def test_six_customers_have_orders_under_their_own_numbers(orders: list[Record]) -> None:
    ids = [order["order_id"] for order in orders]
    assert len(ids) == len(set(ids))
    assert {order["owner"] for order in orders} == {f"demo-user-{n}" for n in range(1, 7)}
    for order in orders:
        assert re.fullmatch(r"MNG-[A-Z0-9]{8}", order["order_id"])
        assert order["order_id"].startswith(f"MNG-DEMO{order['owner'][-1]}00")
    assert [i for i in ids if i.startswith("MNG-DEMO1")] == [f"MNG-DEMO100{n}" for n in range(1, 7)]


def test_sample_orders_cover_every_status_with_its_japanese_word(orders: list[Record]) -> None:
    assert {(order["status"], order["status_ja"]) for order in orders} == set(STATES.items())
    shipments = [shipment for order in orders for shipment in order["shipments"]]
    assert {shipment["carrier"] for shipment in shipments} == {"yamato", "sagawa", "japan_post"}
    assert {shipment["status"] for shipment in shipments} >= {"in_transit", "out_for_delivery", "held", "delivered"}
    assert all(shipment["status_ja"] for shipment in shipments)


def test_order_lines_are_what_the_store_sells_at_the_stores_price(
    orders: list[Record],
    names: dict[str, str],
    prices: dict[tuple[str, str], int],
    volumes: dict[tuple[str, int], Record],
) -> None:
    for line in (line for order in orders for line in order["lines"]):
        assert line["title"] == names[line["title_id"]]
        assert line["unit_price_jpy"] == prices[line["title_id"], line["format"]]
        if line["format"] == "set":
            assert (line["volume"], line["isbn"]) == (None, None)
            continue
        volume = volumes[line["title_id"], line["volume"]]
        assert line["isbn"] == (volume["isbn"] if line["format"] == "physical" else None)
        waits_for = {"preorder": "release_date", "backorder": "restock_date"}.get(line["supply"])
        assert line["expected_date"] == (volume[waits_for] if waits_for else None)


def test_sums_and_shipping_fees_add_up(orders: list[Record]) -> None:
    for order in orders:
        amounts = [(line["format"], line["quantity"] * line["unit_price_jpy"]) for line in order["lines"]]
        goods = sum(amount for kind, amount in amounts if kind != "digital")
        letterbox = any(shipment["service"] == "yu_packet" for shipment in order["shipments"])
        fee = 385 if letterbox else FEES[order["prefecture"]]
        free = goods == 0 or (goods >= 8000 and order["prefecture"] != "Taiwan")
        assert order["subtotal_jpy"] == sum(amount for _, amount in amounts)
        assert order["shipping_jpy"] == (0 if free else fee)
        assert order["total_jpy"] == order["subtotal_jpy"] + order["shipping_jpy"]


def test_tracking_numbers_have_the_carriers_check_digit(orders: list[Record]) -> None:
    numbers = [(s["service"], s["tracking_number"]) for order in orders for s in order["shipments"]]
    assert len(numbers) == len(set(numbers))
    for service, number in numbers:
        if service == "ems":
            assert re.fullmatch(r"E[A-Z][0-9]{9}JP", number)
            weighted = sum(w * int(d) for w, d in zip([8, 6, 4, 2, 3, 5, 9, 7], number[2:10], strict=True))
            assert int(number[10]) == [5, 0, *range(9, 0, -1)][weighted % 11]
        else:
            assert re.fullmatch(r"[0-9]{12}", number)
            assert int(number[:11]) % 7 == int(number[11])


def test_events_of_a_parcel_ascend_and_the_last_one_is_its_status(orders: list[Record]) -> None:
    for order in orders:
        for shipment in order["shipments"]:
            times = [event["at"] for event in shipment["events"]]
            assert times == sorted(times)
            assert order["ordered_at"] < times[0] == shipment["shipped_at"]
            assert day_in_japan(times[-1]) <= REFERENCE
            last = shipment["events"][-1]
            assert (shipment["status"], shipment["status_ja"]) == (last["status"], last["status_ja"])
            assert shipment["delivered_at"] == (last["at"] if last["status"] == "delivered" else None)


def test_every_shipped_line_names_its_parcel_and_no_other_does(orders: list[Record]) -> None:
    for order in orders:
        carried = {line["tracking_number"] for line in order["lines"]} - {None}
        assert carried == {shipment["tracking_number"] for shipment in order["shipments"]}
        if order["status"] in ("shipped", "returned"):
            assert all(line["tracking_number"] for line in order["lines"])
        else:
            assert not order["shipments"]


def test_returns_are_open_for_eight_days_from_delivery(orders: list[Record]) -> None:
    for order in orders:
        delivered = [shipment["delivered_at"] for shipment in order["shipments"]]
        open_for_return = order["status"] == "shipped" and all(delivered)
        last = max(map(day_in_japan, delivered)) if open_for_return else None
        assert order["return_until"] == (str(last + timedelta(days=8)) if last else None)
    assert any(order["return_until"] and order["return_until"] > str(REFERENCE) for order in orders)


def test_sample_orders_cover_split_digital_preordered_and_cancelled_orders(orders: list[Record]) -> None:
    supplies = {line["supply"] for order in orders for line in order["lines"]}
    assert supplies == {"stock", "preorder", "backorder", "download"}
    assert any(len(order["shipments"]) > 1 for order in orders), "a split shipment"
    assert any({line["format"] for line in order["lines"]} == {"digital"} for order in orders), "nothing to ship"
    assert all(order["note"] for order in orders if order["status"] in ("cancelled", "returned", "payment_pending"))


def test_orders_carry_no_personal_data(orders: list[Record]) -> None:
    text = json.dumps(orders, ensure_ascii=False)
    assert "@" not in text
    assert not re.search(r"\b0\d{1,4}-\d{1,4}-\d{3,4}\b|〒|\d{3}-\d{4}\b", text)
    known = {
        *("owner", "order_id", "status", "ordered_at", "lines", "subtotal_jpy", "shipping_jpy", "total_jpy"),
        *("prefecture", "shipments", "estimated_delivery", "note", "return_until", "status_ja"),
    }
    assert {name for order in orders for name in order} == known
