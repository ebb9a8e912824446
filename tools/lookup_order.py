"""lookup_order: where the customer's own order is."""

from __future__ import annotations

from dataclasses import asdict

from tools.contract import Json, Tool, ToolContext
from tools.failures import Forbidden, NotFound
from tools.models import Order
from tools.schemas import INTEGER, ORDER_ID, STRING, answer, arguments, listed, nullable, record

INPUT = arguments(
    {
        "order_id": {
            "type": "string",
            "pattern": ORDER_ID,
            "description": "The order's number as the customer has it, for example MNG-DEMO1001.",
        }
    },
    required=["order_id"],
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

OUTPUT = answer(
    {
        "order_id": STRING,
        "status": STRING,
        "ordered_at": STRING,
        "lines": listed(_LINE),
        "subtotal_jpy": INTEGER,
        "shipping_jpy": INTEGER,
        "total_jpy": INTEGER,
        "prefecture": STRING,
        "shipments": listed(_SHIPMENT),
        "estimated_delivery": nullable("string"),
        "note": nullable("string"),
        "return_until": nullable("string"),
        "status_ja": nullable("string"),
    },
    required=["order_id", "status"],
)


async def look_up(context: ToolContext, asked: Json) -> Json:
    if context.user is None:
        raise Forbidden("Orders are shown to signed-in customers only. Ask the customer to sign in.")
    order = await context.store.orders.order(context.user, asked["order_id"], context.deadline)
    if order is None:
        # Missing, and somebody else's: one answer, one path.
        raise NotFound("There is no such order for this customer. Check the number with the customer.")
    return presented(order)


def presented(order: Order) -> Json:
    return _plain(asdict(order))


def _plain(value: Json) -> Json:
    """Tuples as lists, which is what they are on the wire."""
    return {key: _plain_value(each) for key, each in value.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, dict):
        return _plain(value)
    return [_plain_value(each) for each in value] if isinstance(value, list | tuple) else value


TOOL = Tool(
    name="lookup_order",
    title="Look up an order",
    description="Returns the signed-in customer's own order: state, items, totals, and each parcel's carrier, tracking "
    "number and progress. It finds only orders of the customer who is signed in.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=look_up,
    timeout_ms=300,
    summary=lambda result: f"order is {result['status']}",
    personal=True,
    audited=("order_id",),
    instead="Ask the customer to look under 'My orders' on the store's site.",
)
