"""The way in: one connection, and the ports over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.orders import DynamoOrders
from tools.store.backends.dynamodb.profiles import DynamoPreferences, DynamoProfiles
from tools.store.backends.dynamodb.stock import DynamoReleases, DynamoStock, DynamoTitles
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.models import AvailabilityPage, Health, Order, OrderLine


class DynamoStore:
    """`StockPort` and `OrdersPort` (tools.store.ports) in one; `stock` and `orders` are each alone, so that the health of
    one is not the other's. `titles` is a `TitlesPort`, `releases` a `ReleasesPort`, `profiles` a `ProfilePort`,
    `preferences` a `PreferencesPort`. `connection` is for writing.py."""

    def __init__(self, connection: Connection, clock: Now = utc_now) -> None:
        self.connection = connection
        self.titles = DynamoTitles(connection)
        self.stock = DynamoStock(connection, clock)
        self.releases = DynamoReleases(connection)
        self.orders = DynamoOrders(connection)
        self.profiles = DynamoProfiles(connection, clock)
        self.preferences = DynamoPreferences(connection)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: DynamoAddress, *, clock: Now = utc_now, in_bulk: bool = False
    ) -> AsyncIterator[DynamoStore]:
        """The store until the block ends. Waits for nobody: what cannot be reached fails its calls, not the start.
        `in_bulk` is for the seed."""
        connection = Connection(address, in_bulk=in_bulk)
        try:
            await connection.start()
            yield cls(connection, clock)
        finally:
            await connection.aclose()

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        return await self.stock.availability(title_ids, deadline)

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        return await self.orders.order(owner, order_id, deadline)

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        return await self.orders.latest(owner, limit, deadline)

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        return await self.orders.purchased(owner, deadline)

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        return await self.orders.bought(owner, title_id, deadline)

    async def health(self, deadline: Deadline) -> Health:
        """Of both tables; `detail` says what is wrong with which."""
        both = await asyncio.gather(self.stock.health(deadline), self.orders.health(deadline))
        details = [health.detail for health in both if not health.ok]
        return Health(ok=not details, detail=" ".join(details) or both[0].detail)
