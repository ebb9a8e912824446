"""Orders, by their owner and nobody else: the owner is the partition key of every read.

Orders are read consistently: "there is no such order" must not be said of one placed a second ago, and a few items cost next
to nothing. Purchases are read eventually consistent: a recommendation can wait for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import Item, fits_as_key, from_currency, text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import (
    LINE_FIELDS,
    ORDER_FIELDS,
    PURCHASE_FIELDS,
    lines_bought,
    order_of,
    owner_key,
    purchase_of,
)
from tools.store.backends.dynamodb.reading import TableAdapter
from tools.store.backends.dynamodb.tables import BY_TIME, ORDERS
from tools.store.currency import YEN, Currency
from tools.store.models import Order, OrderLine
from tools.store.models.order import NOT_BOUGHT
from tools.store.ports import MOST_BOUGHT

PURCHASES_READ = 1000
"""Orders, latest first, that count as purchases. Read in one page: their entries in the index are small."""


class DynamoOrders(TableAdapter):
    """An `OrdersPort`."""

    def __init__(self, connection: Connection, currency: Currency = YEN) -> None:
        super().__init__(connection, ORDERS)
        self._currency, self._fields = currency, tuple(map(currency.field, ORDER_FIELDS))

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """One read by (owner, order id): another's order is as absent as one that never was."""
        async with answering("orders", deadline):
            if not fits_as_key(order_id, 1024):
                return None
            key = {"owner": {"S": owner_key(owner)}, "order_id": {"S": order_id}}
            item = await self._get(key, self._fields, deadline)
            return None if item is None else self._order(item, owner, order_id)

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """The owner's orders, latest first. The index says which and in what order; attributes that it does not carry are
        read from the table by the same query, consistently, since "that is all you ordered" must not leave out the last."""
        async with answering("orders", deadline):
            pages = self._latest(owner, self._fields, limit, deadline, Limit=limit, ConsistentRead=True)
            orders = [self._order(item, owner, text(item, "order_id")) async for items in pages for item in items]
        # Equal times stand in the index as they came.
        return tuple(sorted(orders, key=lambda order: (order.ordered_at, order.order_id), reverse=True))

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Title ids, latest purchase first; equal times by id."""
        last: dict[str, str] = {}
        async with answering("orders", deadline):
            pages = self._latest(owner, PURCHASE_FIELDS, PURCHASES_READ, deadline, Limit=PURCHASES_READ)
            async for status, ordered_at, title_ids in (purchase_of(item, owner) async for items in pages for item in items):
                for title_id in title_ids if status not in NOT_BOUGHT else ():
                    last[title_id] = max(last.get(title_id, ""), ordered_at)
        return tuple(sorted(sorted(last), key=lambda title_id: last[title_id], reverse=True))

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Asks for the orders that have the title, consistently: the next volume to buy must not be the one that was just
        ordered."""
        if not fits_as_key(title_id):
            return ()
        async with answering("orders", deadline):
            containing = "title_ids", title_id
            pages = self._latest(owner, LINE_FIELDS, MOST_BOUGHT, deadline, ConsistentRead=True, containing=containing)
            found = [item async for items in pages for item in items]
            own = (from_currency(self._currency, item) for item in found)
            return tuple(line for item in own for line in lines_bought(item, owner, title_id))

    def _order(self, item: Item, owner: str, order_id: str) -> Order:
        return order_of(from_currency(self._currency, item), owner, order_id)

    def _latest(
        self, owner: str, names: Sequence[str], most: int, deadline: Deadline, **parameters: Any
    ) -> AsyncIterator[list[Item]]:
        where = {"owner =": owner_key(owner)}
        return self._pages(names, where, most, deadline, index=BY_TIME, ScanIndexForward=False, **parameters)
