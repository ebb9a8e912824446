"""manga://orders/{order_id}: an order of the customer who reads it, as `lookup_order` tells it, by the same rules."""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.primitives.completions import complete_order_id
from tools.primitives.resource import Contents, ResourceTemplate, UriTemplate
from tools.resources.document import JSON_TYPE, document
from tools.results.orders import own_order, presented
from tools.store.failures import NotFound


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    order = await own_order(context, given["order_id"])
    if order is None:
        raise NotFound("There is no such order for this customer. The completions of order_id are the latest of theirs.")
    return document(context, given["uri"], presented(order, context.store.now()))


ORDERS = ResourceTemplate(
    uri_template=UriTemplate("manga://orders/{order_id}"),
    name="order",
    title="An order",
    description="An order of the signed-in customer: what has become of it, items, totals, parcels and their progress.",
    handler=read,
    mime_type=JSON_TYPE,
    completions={"order_id": complete_order_id},
    ttl_ms=0,
    private=True,
    personal=True,
    subscribable=False,
    scope="mcp:manga-tools:lookup_order",
)
