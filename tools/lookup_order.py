"""lookup_order: where the customer's own order is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from tools.contract import Json, Tool, ToolContext
from tools.results.cards import ranges, shortened
from tools.schema.parts import INTEGER, STRING, answer, arguments, listed, nullable, record
from tools.store.failures import Forbidden, NotFound
from tools.store.identifiers import ORDER_ID
from tools.store.models import Order
from tools.store.order_status import MEANINGS, standing

ORDER, LATEST = "order", "latest_orders"
MOST_LISTED = 10
CONTENTS_CHARACTERS = 80
NO_PART_OF_IT = re.compile("[ #_\\-\u2010-\u2015\u2212\u30fc]")
"""What people put before and between: spaces, number signs, dashes and what looks like one on a Japanese keyboard."""
SAID = re.compile("MNG[A-Z0-9]{8}|(?=.*[0-9])[A-Z0-9]{8}")
"""Eight letters alone are rather words."""

INPUT = arguments(
    {
        "order_id": {
            "type": "string",
            "pattern": ORDER_ID,
            "description": "The order's number as the customer has it, for example MNG-DEMO1001. Leave it out for the "
            "customer's latest orders.",
        }
    }
)

_LINE = record(
    {
        "title_id": STRING,
        "title": STRING,
        "volume": nullable("integer"),
        "isbn": nullable("string"),
        "format": STRING,
        "quantity": INTEGER,
        "unit_price_jpy": INTEGER,
        "supply": nullable("string", "stock, preorder, backorder or download."),
        "expected_date": nullable("string", "When a line that waits should come in."),
        "tracking_number": nullable("string", "The parcel that carries it."),
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
        "status": {**STRING, "description": "The carrier's word; shipped does not mean delivered."},
        "shipped_at": nullable("string"),
        "delivered_at": nullable("string"),
        "events": listed(_SCAN),
        "status_ja": nullable("string"),
    },
    ["carrier", "tracking_number", "status"],
)

_STATUS = {
    **STRING,
    "description": "What has become of it: " + "; ".join(f"{word}, {meaning}" for word, meaning in MEANINGS.items()) + ".",
}
_LATE = {"type": "boolean", "description": "The promised day has passed and something has still not come."}
_ROW = record(
    {
        "order_id": STRING,
        "status": STRING,
        "late": {"type": "boolean"},
        "ordered_at": STRING,
        "contents": {**STRING, "description": "Titles and volumes, shortened."},
        "total_jpy": INTEGER,
        "estimated_delivery": nullable("string"),
    },
    ["order_id", "status", "late", "ordered_at", "contents", "total_jpy"],
)

OUTPUT = answer(
    {
        "kind": {"type": "string", "enum": [ORDER, LATEST], "description": "One order, or the latest in orders."},
        "orders": listed(_ROW, "Latest first, at most ten; look one up by its order_id for its parcels."),
        "order_id": STRING,
        "status": _STATUS,
        "late": _LATE,
        "shop_status": {**STRING, "description": "The shop's own word, which ends at shipped."},
        "shop_status_ja": nullable("string"),
        "shop_note": nullable("string"),
        "ordered_at": STRING,
        "lines": listed(_LINE),
        "subtotal_jpy": INTEGER,
        "shipping_jpy": INTEGER,
        "total_jpy": INTEGER,
        "prefecture": STRING,
        "shipments": listed(_SHIPMENT),
        "estimated_delivery": nullable("string"),
        "return_until": nullable("string"),
    },
    required=["kind"],
)


async def look_up(context: ToolContext, asked: Json) -> Json:
    if context.user is None:
        raise Forbidden("Orders are shown to signed-in customers only. Ask the customer to sign in.")
    orders, now = context.store.orders, context.store.now()
    if "order_id" not in asked:
        return latest(await orders.latest(context.user, MOST_LISTED, context.deadline), now)
    order = await orders.order(context.user, asked["order_id"], context.deadline)
    if order is None:
        # Missing, and somebody else's: one answer, one path.
        raise NotFound("There is no such order for this customer. Check the number with them, or leave it out to list all.")
    return presented(order, now)


def presented(order: Order, now: datetime) -> Json:
    shown = _plain(asdict(order))
    of_the_shop = {f"shop_{name}": shown.pop(name) for name in ("status", "status_ja", "note")}
    return {"kind": ORDER, **asdict(standing(order, now)), **of_the_shop, **shown}


def latest(orders: Sequence[Order], now: datetime) -> Json:
    told: Json = {"kind": LATEST, "orders": [_row(order, now) for order in orders]}
    return told if orders else told | {"note": "This customer has no orders."}


def _row(order: Order, now: datetime) -> Json:
    return {
        "order_id": order.order_id,
        **asdict(standing(order, now)),
        "ordered_at": order.ordered_at,
        "contents": shortened(_contents(order), CONTENTS_CHARACTERS),
        "total_jpy": order.total_jpy,
        "estimated_delivery": order.estimated_delivery,
    }


def _contents(order: Order) -> str:
    """ "One Piece 1-3; Spy x Family 1"."""
    volumes: dict[str, list[int]] = {}
    for line in order.lines:
        volumes.setdefault(line.title, []).extend([] if line.volume is None else [line.volume])
    return "; ".join(f"{title} {ranges(numbers)}".rstrip() for title, numbers in volumes.items())


def order_number(text: str) -> str:
    """The number as the shop writes it, however it was said: "mng demo1001", "DEMO1001", "#MNG‐DEMO1001". Anything else
    stays as it is."""
    bare = NO_PART_OF_IT.sub("", text).upper()
    return f"MNG-{bare[-8:]}" if SAID.fullmatch(bare) else text


def _plain(value: Json) -> Json:
    """Tuples as lists, which is what they are on the wire."""
    return {key: _plain_value(each) for key, each in value.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, dict):
        return _plain(value)
    return [_plain_value(each) for each in value] if isinstance(value, list | tuple) else value


def summary(result: Json) -> str:
    return f"{len(result['orders'])} orders" if "orders" in result else f"order is {result.get('status', 'known')}"


TOOL = Tool(
    name="lookup_order",
    title="Look up an order",
    description="Returns the signed-in customer's own order: what has become of it, items, totals, and each parcel's "
    "carrier, tracking number and progress. Without order_id it lists their latest ten orders, for 'where is my order'. It "
    "finds only orders of the customer who is signed in.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=look_up,
    timeout_ms=300,
    summary=summary,
    spelled={"order_id": order_number},
    personal=True,
    audited=("order_id",),
    instead="Ask the customer to look under 'My orders' on the store's site.",
)
