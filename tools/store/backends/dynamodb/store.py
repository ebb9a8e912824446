"""Titles, stock, releases, orders and profiles in DynamoDB, and `DynamoStore`, which opens all ports over one connection.

Most reads are eventually consistent, which costs half and lets any replica serve them; tools cache stock for 5 s anyway, and
the latest views are in the conversation. Orders and stated preferences are read consistently, so that one of a second ago is
not reported missing; only `purchased`, which feeds recommendations, is eventually consistent. Every read of orders and
profiles has the owner as the partition key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from session.preferences import StoredPreferences
from session.profile import KEPT_DAYS, RECALLED, Event, Profile, format_moment, latest
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import answering, code_of
from tools.store.backends.dynamodb.connection import Connection, TableAdapter
from tools.store.backends.dynamodb.items import (
    EVENT_FIELDS,
    LINE_FIELDS,
    ORDER_FIELDS,
    POPULAR_KEY,
    PREFERENCES_FIELDS,
    PURCHASE_FIELDS,
    RELEASE_FIELDS,
    STOCK_FIELDS,
    TITLE_FIELDS,
    Item,
    decode_stock,
    event_item,
    event_of,
    fits_as_key,
    from_currency,
    lines_bought,
    order_of,
    owner_key,
    preferences_item,
    preferences_key,
    preferences_of,
    purchase_of,
    release_of,
    text,
    title_ids_of,
    title_of,
)
from tools.store.backends.dynamodb.tables import BY_MONTH, BY_TIME, ORDERS, PROFILE, RELEASES, STOCK, TITLES, DynamoAddress
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

    def __init__(self, connection: Connection, clock: Now, currency: Currency = YEN) -> None:
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


class DynamoProfiles(TableAdapter):
    """A `ProfilePort` and a `PreferencesPort` over DynamoDB, in one table whose items expire (TTL). DynamoDB deletes expired
    items within days, so reads of events filter them by time."""

    def __init__(self, connection: Connection, clock: Now) -> None:
        super().__init__(connection, PROFILE)
        self._clock = clock

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        async with answering("profile", deadline):
            await self.put((event_item(user, event) for user, event in entries), retry_rejected=False)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        oldest = format_moment(self._clock() - timedelta(days=KEPT_DAYS))
        where = {"owner =": owner_key(user), "moment >=": oldest}
        async with answering("profile", deadline):
            pages = self._pages(EVENT_FIELDS, where, RECALLED, deadline, ScanIndexForward=False, Limit=RECALLED)
            return Profile(latest([event_of(item, user) async for page in pages for item in page]))

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Deletes all of the user's items: events, also expired ones, and stated preferences."""
        owner = owner_key(user)
        async with answering("profile", deadline):
            async for page in self._pages(("owner", "moment"), {"owner =": owner}, 10**9, deadline, ConsistentRead=True):
                keys = [{"owner": {"S": owner}, "moment": {"S": text(item, "moment")}} for item in page]
                await self._send([{"DeleteRequest": {"Key": key}} for key in keys])

    async def stated(self, user: str, deadline: Deadline) -> StoredPreferences:
        """Returns the user's preferences by a consistent read, so that one stated a moment ago is included."""
        async with answering("profile", deadline):
            item = await self._get(preferences_key(user), PREFERENCES_FIELDS, deadline)
            return StoredPreferences() if item is None else preferences_of(item, user)

    async def keep(self, user: str, kept: StoredPreferences, in_place_of: str | None, deadline: Deadline) -> bool:
        """Stores `kept`, whose `revision` must be new, or deletes the item if `kept` has no preferences; returns True. If
        the stored revision is not `in_place_of` (None: nothing is stored), changes nothing and returns False."""
        unchanged: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(revision)"}
        if in_place_of is not None:
            seen = {":seen": {"S": in_place_of}}
            unchanged = {"ConditionExpression": "revision = :seen", "ExpressionAttributeValues": seen}
        operation, what = "delete_item", {"Key": preferences_key(user)}
        if kept.preferences:
            operation, what = "put_item", {"Item": preferences_item(user, kept)}
        async with answering("profile", deadline):
            try:
                await self._connection.call(operation, deadline, TableName=self._name, **what, **unchanged)
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True


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
