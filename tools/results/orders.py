"""Presents a customer's order with its status, and the list of latest orders."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime

from pydantic_core import to_jsonable_python

from tools.contract import Json, ToolContext
from tools.results.rows import format_ranges, shorten_text
from tools.schema.parts import BOOLEAN, INTEGER, STRING, answer, list_of, nullable, record
from tools.store.failures import Forbidden
from tools.store.models import Order, OrderLine, Shipment
from tools.store.models.order import NOT_BOUGHT
from tools.store.models.values import day_in_japan

# The status of an order, as a shopper would say it.
#
# A shop's own status usually ends at "shipped" (発送済み), and what happens to a parcel afterwards only its carrier knows.
# So the status is derived from both, and from the promised day, by the calendar in Japan.


ARRIVED = "delivered"
CARRIER_WORDS = {"out_for_delivery": "out_for_delivery", "absent": "delivery_missed", "held": "held"}
"""Order status by the carrier's status; any other means a parcel on its way."""
URGENT = ("held", "delivery_missed", "out_for_delivery", "in_transit")
"""Precedence of statuses among several parcels: those on which the customer has to act come first."""
SHOP_WORDS = {"received": "received", "paid": "preparing", "in_preparation": "preparing", "shipped": "in_transit"}
WAITS = {"preorder": "preordered", "backorder": "backordered"}
SAID_AS_LATE = frozenset({"received", "preparing", "preordered", "backordered", "in_transit"})
"""Statuses replaced by "late" after the promised day. A parcel that waits to be fetched stays held."""


def standing(order: Order, now: datetime) -> Json:
    """Returns {"status", "late"} at `now`, which must have a time zone. `late` is True for an open order whose promised
    day is over in Japan; the statuses in `SAID_AS_LATE` are then "late" too. Unpaid, cancelled, returned and complete
    orders are never late."""
    status = _status(order, day_in_japan(now))
    open_still = status not in NOT_BOUGHT and status not in (ARRIVED, "ready_to_read", "awaiting_payment")
    promised = order.estimated_delivery
    late = open_still and promised is not None and date.fromisoformat(promised) < day_in_japan(now)
    return {"status": "late" if late and status in SAID_AS_LATE else status, "late": late}


def _status(order: Order, today: date) -> str:
    if order.status in NOT_BOUGHT:
        return order.status
    if order.status == "payment_pending":
        return "awaiting_payment"
    printed = [line for line in order.lines if line.supply != "download" and line.format != "digital"]
    if not printed:
        return _digital(order, today)
    if order.shipments:
        return _parcel_status(order.shipments, printed)
    waiting = _waiting_for(printed) if order.status != "shipped" else None
    return waiting or SHOP_WORDS.get(order.status, order.status)


def _digital(order: Order, today: date) -> str:
    if any(line.expected_date is not None and date.fromisoformat(line.expected_date) > today for line in order.lines):
        return "preordered"
    return "received" if order.status == "received" else "ready_to_read"


def _waiting_for(lines: Collection[OrderLine]) -> str | None:
    """Returns "preordered" if any line is a pre-order, else "backordered" if any is a back-order, else None: an order is
    sent complete, so one such line delays all."""
    waits = {WAITS[line.supply] for line in lines if line.supply in WAITS}
    return "preordered" if "preordered" in waits else next(iter(waits), None)


def _parcel_status(shipments: Sequence[Shipment], printed: Collection[OrderLine]) -> str:
    arrived = [each for each in shipments if each.status == ARRIVED or each.delivered_at is not None]
    named = any(line.tracking_number for line in printed)
    to_be_sent = named and any(line.tracking_number is None for line in printed)
    if len(arrived) == len(shipments) and not to_be_sent:
        return "delivered"
    if arrived:
        return "partly_delivered"
    return min((CARRIER_WORDS.get(each.status, "in_transit") for each in shipments), key=URGENT.index)


ORDER, LATEST = "order", "latest_orders"
CONTENTS_CHARACTERS = 80
_LINE = record(
    {
        "title_id": STRING,
        "title": STRING,
        "volume": nullable("integer"),
        "isbn": nullable("string"),
        "format": STRING,
        "quantity": INTEGER,
        "unit_price_jpy": INTEGER,
        "supply": nullable("string"),
        "expected_date": nullable("string"),
        "tracking_number": nullable("string"),
    },
    ["title_id", "title", "quantity"],
)
_SCAN = record(
    {"status": STRING, "at": STRING, "place": nullable("string"), "status_ja": nullable("string")}, ["status", "at"]
)
_SHIPMENT = record(
    {
        "carrier": STRING,
        "service": STRING,
        "tracking_number": STRING,
        "status": STRING,
        "shipped_at": nullable("string"),
        "delivered_at": nullable("string"),
        "events": list_of(_SCAN),
        "status_ja": nullable("string"),
    },
    ["carrier", "tracking_number", "status"],
)
_STATUS = {**STRING, "description": "held: waits to be fetched or sent again; ready_to_read: digital only, in the library."}
_ROW = record(
    {
        "order_id": STRING,
        "status": STRING,
        "late": BOOLEAN,
        "ordered_at": STRING,
        "contents": STRING,
        "total_jpy": INTEGER,
        "estimated_delivery": nullable("string"),
    },
    ["order_id", "status", "late", "ordered_at", "total_jpy"],
)
OUTPUT = answer(
    {
        "kind": {"type": "string", "enum": [ORDER, LATEST]},
        "orders": list_of(_ROW, "Latest first."),
        "order_id": STRING,
        "status": _STATUS,
        "late": BOOLEAN,
        "shop_status": {**STRING, "description": "Ends at shipped."},
        "shop_status_ja": nullable("string"),
        "shop_note": nullable("string"),
        "ordered_at": STRING,
        "lines": list_of(_LINE),
        "subtotal_jpy": INTEGER,
        "shipping_jpy": INTEGER,
        "total_jpy": INTEGER,
        "prefecture": STRING,
        "shipments": list_of(_SHIPMENT),
        "estimated_delivery": nullable("string"),
        "return_until": nullable("string"),
    },
    required=["kind"],
)


def present_order(order: Order, now: datetime) -> Json:
    shown = to_jsonable_python(order)
    of_the_shop = {f"shop_{name}": shown.pop(name) for name in ("status", "status_ja", "note")}
    return {"kind": ORDER, **standing(order, now), **of_the_shop, **shown}


def present_latest(orders: Sequence[Order], now: datetime) -> Json:
    told: Json = {"kind": LATEST, "orders": [_row(order, now) for order in orders]}
    return told if orders else told | {"note": "This customer has no orders."}


def _row(order: Order, now: datetime) -> Json:
    return {
        "order_id": order.order_id,
        **standing(order, now),
        "ordered_at": order.ordered_at,
        "contents": shorten_text(_contents(order), CONTENTS_CHARACTERS),
        "total_jpy": order.total_jpy,
        "estimated_delivery": order.estimated_delivery,
    }


def _contents(order: Order) -> str:
    """Returns the order's titles with their volumes, such as "One Piece 1-3; Spy x Family 1"."""
    volumes: dict[str, list[int]] = {}
    for line in order.lines:
        volumes.setdefault(line.title, []).extend([] if line.volume is None else [line.volume])
    return "; ".join(f"{title} {format_ranges(numbers)}".rstrip() for title, numbers in volumes.items())


MOST_LISTED = 10


async def read_own_order(context: ToolContext, order_id: str) -> Order | None:
    """Reads an order of the caller; None if the number is malformed or the caller has no such order. Raises `Forbidden` for
    anonymous callers."""
    customer = _customer(context)
    if not context.store.identifiers.orders.matches(order_id):
        return None
    return await context.store.orders.order(customer, order_id, context.deadline)


async def read_latest_orders(context: ToolContext) -> Sequence[Order]:
    """Reads the caller's latest ten orders. Raises `Forbidden` for anonymous callers."""
    return await context.store.orders.latest(_customer(context), MOST_LISTED, context.deadline)


def _customer(context: ToolContext) -> str:
    if context.user is None:
        raise Forbidden("Orders are shown to signed-in customers only. Ask the customer to sign in.")
    return context.user
