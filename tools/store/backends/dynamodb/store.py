"""The way in: one connection, and the ports over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from session.resilience.clocks import Now, utc_now
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.orders import DynamoOrders
from tools.store.backends.dynamodb.profiles import DynamoPreferences, DynamoProfiles
from tools.store.backends.dynamodb.stock import DynamoReleases, DynamoStock, DynamoTitles
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.currency import YEN, Currency


class DynamoStore:
    """The ports of `tools.store.ports`, each over its table. `connection` is for bulk writes."""

    def __init__(self, connection: Connection, clock: Now = utc_now, currency: Currency = YEN) -> None:
        self.connection = connection
        self.titles = DynamoTitles(connection)
        self.stock = DynamoStock(connection, clock, currency)
        self.releases = DynamoReleases(connection)
        self.orders = DynamoOrders(connection, currency)
        self.profiles = DynamoProfiles(connection, clock)
        self.preferences = DynamoPreferences(connection)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: DynamoAddress, *, clock: Now = utc_now, in_bulk: bool = False, currency: Currency = YEN
    ) -> AsyncIterator[DynamoStore]:
        """The store until the block ends. A DynamoDB that cannot be reached fails the calls, not the start. `in_bulk` is for
        the seed."""
        connection = Connection(address, in_bulk=in_bulk)
        try:
            await connection.start()
            yield cls(connection, clock, currency)
        finally:
            await connection.aclose()
