"""Orders, by their owner and nobody else: the owner is the partition key of every read.

Orders are read consistently: "there is no such order" must not be said of one placed a second ago, and a few items cost next
to nothing. Purchases are read eventually consistent: a recommendation can wait for them.
"""

from __future__ import annotations

from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import fits_as_key, text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import (
    LINE_FIELDS,
    ORDER_FIELDS,
    PURCHASE_FIELDS,
    lines_bought,
    order_of,
    owner_key,
    projection,
    purchase_of,
)
from tools.store.backends.dynamodb.reading import health_of, pages
from tools.store.backends.dynamodb.tables import BY_TIME, ORDERS
from tools.store.models import Health, Order, OrderLine
from tools.store.models.order import NOT_BOUGHT
from tools.store.ports import MOST_BOUGHT
from tools.store.records.shape import ShapeError

PURCHASES_READ = 1000
"""Orders, latest first, that count as what somebody owns. Read in one page: their entries in the index are small."""


class DynamoOrders:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = ORDERS.called(connection.address.prefix)

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """One read by (owner, order id): another's order is as absent as one that never was."""
        async with answering("orders", deadline):
            if not fits_as_key(order_id, "sort"):
                return None
            answer = await self._connection.call(
                "get_item",
                deadline,
                TableName=self._table,
                Key={"owner": {"S": owner_key(owner)}, "order_id": {"S": order_id}},
                ConsistentRead=True,
                **projection(ORDER_FIELDS),
            )
            if "Item" not in answer:
                return None
            if not isinstance(answer["Item"], dict):
                raise ShapeError("$.Item must be an object")
            return order_of(answer["Item"], owner, order_id)

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """The owner's orders, latest first. The index says which and in what order; what it does not carry is read from the
        table by the same query, consistently, since "that is all you ordered" must not leave out the last."""
        query: dict[str, Any] = {
            **self._by_time(owner),
            "Limit": limit,
            "ConsistentRead": True,
            **projection(ORDER_FIELDS),
        }
        async with answering("orders", deadline):
            found = [item async for items in pages(self._connection, query, limit, deadline) for item in items]
            orders = [order_of(item, owner, text(item, "order_id", "$")) for item in found]
        # Equal times stand in the index as they came.
        return tuple(sorted(orders, key=lambda order: (order.ordered_at, order.order_id), reverse=True))

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Title ids, latest purchase first; equal times by id."""
        asked = projection(PURCHASE_FIELDS)
        query = {**self._by_time(owner), "Limit": PURCHASES_READ, **asked}
        last: dict[str, str] = {}
        async with answering("orders", deadline):
            async for items in pages(self._connection, query, PURCHASES_READ, deadline):
                for item in items:
                    status, ordered_at, title_ids = purchase_of(item, owner)
                    if status in NOT_BOUGHT:
                        continue
                    for title_id in title_ids:
                        last[title_id] = max(last.get(title_id, ""), ordered_at)
        return tuple(sorted(sorted(last), key=lambda title_id: last[title_id], reverse=True))

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Asks for the orders that have the title, consistently: what follows the volume that somebody has just ordered
        must not be that volume."""
        if not fits_as_key(title_id, "partition"):
            return ()
        query = {**self._by_time(owner), "ConsistentRead": True, **projection(LINE_FIELDS)}
        query["FilterExpression"] = f"contains(#{LINE_FIELDS.index('title_ids')}, :title)"
        query["ExpressionAttributeValues"] = {**query["ExpressionAttributeValues"], ":title": {"S": title_id}}
        async with answering("orders", deadline):
            found = [item async for items in pages(self._connection, query, MOST_BOUGHT, deadline) for item in items]
            return tuple(line for item in found for line in lines_bought(item, owner, title_id))

    def _by_time(self, owner: str) -> dict[str, Any]:
        """An owner's orders, latest first. Needs a projection that begins with the owner."""
        return {
            "TableName": self._table,
            "IndexName": BY_TIME.name,
            "KeyConditionExpression": "#0 = :owner",
            "ExpressionAttributeValues": {":owner": {"S": owner_key(owner)}},
            "ScanIndexForward": False,
        }

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, ORDERS, deadline)
