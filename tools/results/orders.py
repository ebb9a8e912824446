"""An order as its owner sees it, and the orders of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from tools.contract import Json, ToolContext
from tools.results.rows import format_ranges, shorten_text
from tools.schema.parts import BOOLEAN, INTEGER, STRING, answer, list_of, nullable, record
from tools.store.failures import Forbidden
from tools.store.models import Order
from tools.store.order_status import MEANINGS, standing

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
_STATUS = {**STRING, "description": "; ".join(f"{word}: {MEANINGS[word]}" for word in ("held", "ready_to_read")) + "."}
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
    shown = _plain(asdict(order))
    of_the_shop = {f"shop_{name}": shown.pop(name) for name in ("status", "status_ja", "note")}
    return {"kind": ORDER, **asdict(standing(order, now)), **of_the_shop, **shown}


def present_latest(orders: Sequence[Order], now: datetime) -> Json:
    told: Json = {"kind": LATEST, "orders": [_row(order, now) for order in orders]}
    return told if orders else told | {"note": "This customer has no orders."}


def _row(order: Order, now: datetime) -> Json:
    return {
        "order_id": order.order_id,
        **asdict(standing(order, now)),
        "ordered_at": order.ordered_at,
        "contents": shorten_text(_contents(order), CONTENTS_CHARACTERS),
        "total_jpy": order.total_jpy,
        "estimated_delivery": order.estimated_delivery,
    }


def _contents(order: Order) -> str:
    """The order's titles with their volumes, such as "One Piece 1-3; Spy x Family 1"."""
    volumes: dict[str, list[int]] = {}
    for line in order.lines:
        volumes.setdefault(line.title, []).extend([] if line.volume is None else [line.volume])
    return "; ".join(f"{title} {format_ranges(numbers)}".rstrip() for title, numbers in volumes.items())


def _plain(value: Json) -> Json:
    """Turns tuples into lists, as JSON does."""
    return {key: _plain_value(each) for key, each in value.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, dict):
        return _plain(value)
    return [_plain_value(each) for each in value] if isinstance(value, list | tuple) else value


MOST_LISTED = 10


async def read_own_order(context: ToolContext, order_id: str) -> Order | None:
    """The caller's order of this number; None if it is absent, somebody else's, or impossible. Raises `Forbidden` for
    anonymous callers."""
    customer = _customer(context)
    if not context.store.identifiers.orders.matches(order_id):
        return None
    return await context.store.orders.order(customer, order_id, context.deadline)


async def read_latest_orders(context: ToolContext) -> Sequence[Order]:
    """The caller's latest ten. Raises `Forbidden` for anonymous callers."""
    return await context.store.orders.latest(_customer(context), MOST_LISTED, context.deadline)


def _customer(context: ToolContext) -> str:
    if context.user is None:
        raise Forbidden("Orders are shown to signed-in customers only. Ask the customer to sign in.")
    return context.user
