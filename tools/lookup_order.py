from __future__ import annotations

from tools.contract import Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.orders import OUTPUT, present_latest, present_order, read_latest_orders, read_own_order
from tools.schema.parts import argument, arguments
from tools.store.failures import NotFound
from tools.store.identifiers import ORDER_ID

INPUT = arguments(
    {"order_id": argument("string", "Such as MNG-DEMO1001. Default: their latest ten.", pattern=ORDER_ID)},
)


async def look_up(context: ToolContext, asked: Json) -> Json:
    now = context.store.now()
    if "order_id" not in asked:
        return present_latest(await read_latest_orders(context), now)
    order = await read_own_order(context, asked["order_id"])
    if order is None:
        # A missing order and another customer's order give the same answer, by the same path.
        raise NotFound("There is no such order for this customer. Check the number with them, or leave it out to list all.")
    return present_order(order, now)


def one_order(result: Json) -> dict[str, str]:
    """Returns {"order_id": number} for the only order in a result, as the default of later calls of the session. The number
    is "" if there are several orders; {} is returned if there are none."""
    told = result.get("orders", [result])
    return {"order_id": str(told[0]["order_id"]) if len(told) == 1 else ""} if told else {}


def summary(result: Json) -> str:
    return f"{len(result['orders'])} orders" if "orders" in result else f"order is {result.get('status', 'known')}"


TOOL = Tool(
    name="lookup_order",
    title="Look up an order",
    description="Returns an order of the signed-in customer: status, items, totals, and each parcel's carrier, tracking "
    "number and progress. Without order_id: their latest ten orders.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=look_up,
    timeout_ms=300,
    looks_up=True,
    summary=summary,
    personal=True,
    audited=("order_id",),
    shares=one_order,
    leaves=("order_id",),
    sheds=worth.ORDERS,
    instead="Ask the customer to look under 'My orders' on the store's site.",
)
