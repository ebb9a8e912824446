"""Titles, stock, releases and orders in DynamoDB, and `DynamoStore`, which opens all ports over one connection.

Most reads are eventually consistent, which costs half and lets any replica serve them; tools cache stock for 5 s anyway.
Orders are read consistently, so that an order placed a second ago is not reported missing; only `purchased`, which feeds
recommendations, is eventually consistent. Every read of orders has the owner as the partition key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from session.profile import format_moment
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import answering
from tools.store.backends.dynamodb.connection import Connection, TableAdapter
from tools.store.backends.dynamodb.items import (
    LINE_FIELDS,
    ORDER_FIELDS,
    POPULAR_KEY,
    PURCHASE_FIELDS,
    RELEASE_FIELDS,
    STOCK_FIELDS,
    TITLE_FIELDS,
    Item,
    decode_stock,
    fits_as_key,
    from_currency,
    lines_bought,
    order_of,
    owner_key,
    purchase_of,
    release_of,
    text,
    title_ids_of,
    title_of,
)
from tools.store.backends.dynamodb.profiles import DynamoProfiles
from tools.store.backends.dynamodb.tables import BY_MONTH, BY_TIME, ORDERS, RELEASES, STOCK, TITLES, DynamoAddress
from tools.store.currency import YEN, Currency
from tools.store.models import Availability, AvailabilityPage, Order, OrderLine, Release, Title
from tools.store.models.order import NOT_BOUGHT
from tools.store.ports import MOST_BOUGHT, MOST_RELEASES

PURCHASES_READ = 1000
"""Most orders that `purchased` reads, the latest ones. They fit into one page, since entries of the index are small."""


class DynamoOrders(TableAdapter):
    """An `OrdersPort` over DynamoDB."""

    def __init__(self, connection: Connection, currency: Currency = YEN) -> None:
        super().__init__(connection, ORDERS)
        self._currency, self._fields = currency, tuple(map(currency.field, ORDER_FIELDS))

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """Returns the owner's order; None if there is none. Another owner's order is never found, since the owner is part of
        the key."""
        async with answering("orders", deadline):
            if not fits_as_key(order_id, 1024):
                return None
            key = {"owner": {"S": owner_key(owner)}, "order_id": {"S": order_id}}
            item = await self._get(key, self._fields, deadline)
            return None if item is None else self._order(item, owner, order_id)

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """Returns at most `limit` of the owner's orders, latest first, by a consistent query of a local index, so that the
        newest order is included."""
        async with answering("orders", deadline):
            pages = self._latest(owner, self._fields, limit, deadline, Limit=limit, ConsistentRead=True)
            orders = [self._order(item, owner, text(item, "order_id")) async for items in pages for item in items]
        # The index does not order equal times.
        return tuple(sorted(orders, key=lambda order: (order.ordered_at, order.order_id), reverse=True))

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Returns the ids of the titles in the latest 1,000 orders, except orders that were cancelled or returned. The
        latest purchase is first; equal times are sorted by id."""
        last: dict[str, str] = {}
        async with answering("orders", deadline):
            pages = self._latest(owner, PURCHASE_FIELDS, PURCHASES_READ, deadline, Limit=PURCHASES_READ)
            async for status, ordered_at, title_ids in (purchase_of(item, owner) async for items in pages for item in items):
                for title_id in title_ids if status not in NOT_BOUGHT else ():
                    last[title_id] = max(last.get(title_id, ""), ordered_at)
        return tuple(sorted(sorted(last), key=lambda title_id: last[title_id], reverse=True))

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Returns the owner's lines of a title from orders neither cancelled nor returned. The read is consistent, so that a
        volume ordered a moment ago is included."""
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


class DynamoTitles(TableAdapter):
    """A `TitlesPort` over DynamoDB, with one item for each title."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, TITLES)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Returns the titles that could be read in time, by id. Raises a `BackendFailure` if every requested title was late
        or unreadable, or if DynamoDB returned an item that was not requested."""
        async with answering("titles", deadline):
            titles, _ = await self._read(title_ids, TITLE_FIELDS, title_of, "record", deadline)
            return titles

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns at most `limit` titles, in the order of the list of popular titles that `infra.seed` writes into the
        table."""
        async with answering("titles", deadline):
            item = await self._get(POPULAR_KEY, ("title_ids",), deadline)
            title_ids = [] if item is None else title_ids_of(item)[:limit]
            titles = await self.get(title_ids, deadline)
            return tuple(titles[title_id] for title_id in title_ids if title_id in titles)


class DynamoStock(TableAdapter):
    """A `StockPort` over DynamoDB, with one item for each title and all its volumes."""

    def __init__(self, connection: Connection, clock: Callable[[], datetime], currency: Currency = YEN) -> None:
        super().__init__(connection, STOCK)
        self._clock, self._currency = clock, currency

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Returns the stock of the titles that are sold. Titles that were late or whose item is malformed are `unanswered`.
        Raises a `BackendFailure` if all titles are unanswered, or if DynamoDB returned an item that was not requested."""
        as_of = format_moment(self._clock())

        def decode(item: Item, title_id: str) -> Availability:
            return decode_stock(from_currency(self._currency, item), as_of)

        async with answering("stock", deadline):
            rows, unanswered = await self._read(title_ids, STOCK_FIELDS, decode, "stock item", deadline)
            return AvailabilityPage({title_id: row for title_id, row in rows.items() if row.offers}, unanswered)


_PAGE = 250
"""Items of one page: decoding so many holds the event loop for about a millisecond."""


class DynamoReleases(TableAdapter):
    """A `ReleasesPort` over DynamoDB, with one item for each volume that has a release date."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, RELEASES)

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        async with answering("releases", deadline):
            where = {"month =": month}
            pages = self._pages(RELEASE_FIELDS, where, MOST_RELEASES, deadline, index=BY_MONTH, Limit=_PAGE)
            found = [release_of(item) async for page in pages for item in page]
        return tuple(sorted(found, key=lambda each: each.place))


class DynamoStore:
    """All DynamoDB ports over one connection. `connection` is public for bulk writes."""

    def __init__(self, connection: Connection, clock: Now = utc_now, currency: Currency = YEN) -> None:
        self.connection = connection
        self.titles = DynamoTitles(connection)
        self.stock = DynamoStock(connection, clock, currency)
        self.releases = DynamoReleases(connection)
        self.orders = DynamoOrders(connection, currency)
        self.profiles = DynamoProfiles(connection, clock)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: DynamoAddress, *, clock: Now = utc_now, in_bulk: bool = False, currency: Currency = YEN
    ) -> AsyncIterator[DynamoStore]:
        """Opens the store for the block. If DynamoDB is unreachable, opening succeeds and the calls fail. `in_bulk` raises
        the read timeout, for bulk writes."""
        connection = Connection(address, in_bulk=in_bulk)
        async with connection.opened():
            yield cls(connection, clock, currency)
