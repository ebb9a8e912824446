"""lookup_order: where the customer's own order is."""

from __future__ import annotations

import re

from tools.contract import Json, Tool, ToolContext
from tools.results.orders import OUTPUT, latest, presented
from tools.schema.parts import arguments
from tools.store.failures import Forbidden, NotFound
from tools.store.identifiers import ORDER_ID

MOST_LISTED = 10
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


def order_number(text: str) -> str:
    """The number as the shop writes it, however it was said: "mng demo1001", "DEMO1001", "#MNG‐DEMO1001". Anything else
    stays as it is."""
    bare = NO_PART_OF_IT.sub("", text).upper()
    return f"MNG-{bare[-8:]}" if SAID.fullmatch(bare) else text


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
