"""The status of an order is made of the shop's state, the carriers' and the promised day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from server.config.settings import DEMO
from tests.support.cases import cases
from tools.results.orders import present_latest, present_order, standing
from tools.store.models import Order, OrderLine, Shipment
from tools.store.records.store_files import read_orders

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
PARCEL = "123456789014"


def a_line(supply: str = "stock", parcel: str | None = None, expected: str | None = None) -> OrderLine:
    format_ = "digital" if supply == "download" else "physical"
    return OrderLine("manga-000001", "One", 1, None, format_, 1, 500, supply, expected, parcel)


def a_parcel(status: str, number: str = PARCEL) -> Shipment:
    return Shipment("yamato", "takkyubin", number, status, "2026-11-20T06:00:00Z", None)


def an_order(status: str, *parts: OrderLine | Shipment, by: str | None = None) -> Order:
    lines = tuple(each for each in parts if isinstance(each, OrderLine)) or (a_line(parcel=PARCEL),)
    parcels = tuple(each for each in parts if isinstance(each, Shipment))
    subtotal = 500 * len(lines)
    return Order("MNG-AAAA0001", status, "2026-11-18T00:00:00Z", lines, subtotal, 0, subtotal, "Tokyo", parcels, by)


@cases(
    ("order", "said"),
    [
        (an_order("received", a_line()), "received"),
        (an_order("payment_pending", a_line()), "awaiting_payment"),
        (an_order("paid", a_line()), "preparing"),
        (an_order("in_preparation", a_line()), "preparing"),
        (an_order("paid", a_line("preorder", expected="2027-02-03"), a_line()), "preordered"),
        (an_order("in_preparation", a_line("backorder", expected="2026-12-03")), "backordered"),
        (an_order("paid", a_line("backorder"), a_line("preorder")), "preordered"),
        (an_order("paid", a_line("download")), "ready_to_read"),
        (an_order("received", a_line("download")), "received"),
        (an_order("paid", a_line("download", expected="2026-11-23")), "preordered"),
        (an_order("paid", a_line("download", expected="2026-11-22")), "ready_to_read"),
        (an_order("in_preparation", a_line("download"), a_line()), "preparing"),
        (an_order("shipped", a_line()), "in_transit"),
        (an_order("shipped", a_line("preorder", expected="2026-11-21")), "in_transit"),
        (an_order("shipped", a_parcel("accepted")), "in_transit"),
        (an_order("shipped", a_parcel("at_customs")), "in_transit"),
        (an_order("shipped", a_parcel("a word of tomorrow")), "in_transit"),
        (an_order("shipped", a_parcel("out_for_delivery")), "out_for_delivery"),
        (an_order("shipped", a_parcel("absent")), "delivery_missed"),
        (an_order("shipped", a_parcel("held")), "held"),
        (an_order("shipped", a_parcel("in_transit"), a_parcel("held")), "held"),
        (an_order("shipped", a_parcel("delivered")), "delivered"),
        (an_order("shipped", replace(a_parcel("in_transit"), delivered_at="2026-11-21T00:00:00Z")), "delivered"),
        (an_order("shipped", a_parcel("delivered"), a_parcel("held")), "partly_delivered"),
        (an_order("shipped", a_line(parcel=PARCEL), a_line(), a_parcel("delivered")), "partly_delivered"),
        (an_order("shipped", a_line(), a_line(), a_parcel("delivered")), "delivered"),
        (an_order("shipped", a_line(parcel=PARCEL), a_line("download"), a_parcel("delivered")), "delivered"),
        (an_order("cancelled", a_line()), "cancelled"),
        (an_order("returned", a_parcel("delivered")), "returned"),
        (an_order("予約", a_line()), "予約"),
    ],
)
def test_order_status_is_told_in_words_of_a_shopper(order: Order, said: str) -> None:
    assert standing(order, NOW) == {"status": said, "late": False}


@cases(
    ("order", "said", "late"),
    [
        (an_order("shipped", a_parcel("in_transit")), "late", True),
        (an_order("paid", a_line()), "late", True),
        (an_order("paid", a_line("preorder", expected="2026-11-20")), "late", True),
        (an_order("shipped", a_parcel("out_for_delivery")), "out_for_delivery", True),
        (an_order("shipped", a_parcel("held")), "held", True),
        (an_order("shipped", a_parcel("delivered"), a_parcel("in_transit")), "partly_delivered", True),
        (an_order("shipped", a_parcel("delivered")), "delivered", False),
        (an_order("payment_pending", a_line()), "awaiting_payment", False),
        (an_order("paid", a_line("download")), "ready_to_read", False),
        (an_order("cancelled", a_line()), "cancelled", False),
        (an_order("returned", a_parcel("delivered")), "returned", False),
    ],
)
def test_order_past_its_estimate_is_late_while_something_is_missing(order: Order, said: str, late: bool) -> None:
    assert standing(replace(order, estimated_delivery="2026-11-21"), NOW) == {"status": said, "late": late}


@cases(
    ("now", "late"),
    [
        (datetime(2026, 11, 21, 14, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 11, 21, 15, 0, tzinfo=UTC), True),
        (datetime(2026, 11, 20, 23, 0, tzinfo=UTC), False),
    ],
)
def test_order_is_late_from_midnight_in_japan_after_the_estimate(now: datetime, late: bool) -> None:
    order = an_order("shipped", a_parcel("in_transit"), by="2026-11-21")
    assert standing(order, now)["late"] is late
    assert present_order(order, now)["status"] == ("late" if late else "in_transit")


def test_shop_status_and_note_are_kept_apart_from_the_status() -> None:
    order = replace(an_order("shipped", a_parcel("delivered")), status_ja="発送済み", note="Left at the door.")
    told = present_order(order, NOW)
    assert (told["status"], told["shop_status"], told["shop_status_ja"]) == ("delivered", "shipped", "発送済み")
    assert (told["shop_note"], "note" in told) == ("Left at the door.", False)


def test_demo_orders_cover_every_status() -> None:
    said = {order.order_id: standing(order, NOW)["status"] for _, order in read_orders(DEMO / "orders.jsonl")}
    expected = {
        "MNG-DEMO1001": "delivered", "MNG-DEMO1002": "late", "MNG-DEMO1003": "preordered", "MNG-DEMO1004": "ready_to_read",
        "MNG-DEMO1005": "cancelled", "MNG-DEMO1006": "partly_delivered", "MNG-DEMO2002": "backordered",
        "MNG-DEMO2003": "returned", "MNG-DEMO3001": "received", "MNG-DEMO4001": "awaiting_payment",
        "MNG-DEMO4002": "held", "MNG-DEMO6003": "preparing",
    }  # fmt: skip
    assert {order_id: said[order_id] for order_id in expected} == expected


def test_list_of_orders_has_a_short_row_for_each_order() -> None:
    lines = tuple(replace(a_line(), title=title, volume=n) for title, n in [("One Piece", 1), ("One Piece", 2), ("Nana", 7)])
    told = present_latest(
        [replace(an_order("paid", a_line()), lines=(*lines, replace(a_line(), title="The set", volume=None)))], NOW
    )
    (row,) = told["orders"]
    assert row["contents"] == "One Piece 1-2; Nana 7; The set"
    assert (row["order_id"], row["status"], row["late"]) == ("MNG-AAAA0001", "preparing", False)
    assert set(row) == {"order_id", "status", "late", "ordered_at", "contents", "total_jpy", "estimated_delivery"}
    assert "note" not in told
    assert present_latest([], NOW)["note"]
