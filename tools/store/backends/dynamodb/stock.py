"""Titles, stock and releases in DynamoDB.

Reads are eventually consistent: tools keep stock for 5 s anyway, a shop sells against its own counter at the till, and such
a read costs half and is served by any replica.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import from_currency
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import (
    POPULAR_KEY,
    RELEASE_FIELDS,
    STOCK_FIELDS,
    TITLE_FIELDS,
    release_of,
    stock_row,
    title_ids_of,
    title_of,
)
from tools.store.backends.dynamodb.reading import BatchReader, TableAdapter
from tools.store.backends.dynamodb.tables import BY_MONTH, RELEASES, STOCK, TITLES
from tools.store.currency import YEN, Currency
from tools.store.models import Availability, AvailabilityPage, Release, Title
from tools.store.ports import MOST_RELEASES
from tools.store.records.shape import ShapeError

logger = logging.getLogger(__name__)


class DynamoTitles(TableAdapter):
    """A `TitlesPort`: one item a title."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, TITLES)
        self._reader = BatchReader(connection, TITLES, TITLE_FIELDS)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """The titles that came in time and can be read; a failure only when no title at all could be answered."""
        async with answering("titles", deadline):
            found = await self._reader.read(title_ids, deadline)
            titles: dict[str, Title] = {}
            for title_id, item in found.items.items():
                try:
                    titles[title_id] = title_of(item, title_id)
                except ShapeError as error:
                    logger.warning("the record of %s cannot be read: %s", title_id, error)
            if found.asked and len(found.unanswered) + len(found.items) - len(titles) == found.asked:
                raise found.explain("titles")
            return titles

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """By the list that the seed writes beside the titles."""
        async with answering("titles", deadline):
            item = await self._get(POPULAR_KEY, ("title_ids",), deadline)
            title_ids = [] if item is None else title_ids_of(item)[:limit]
            titles = await self.get(title_ids, deadline)
            return tuple(titles[title_id] for title_id in title_ids if title_id in titles)


_SLICE_S = 0.0005
"""How long one call may keep the event loop with reading items before others have a turn."""


class DynamoStock(TableAdapter):
    """A `StockPort`: one item has all volumes of a title."""

    def __init__(self, connection: Connection, clock: Callable[[], datetime], currency: Currency = YEN) -> None:
        super().__init__(connection, STOCK)
        self._reader = BatchReader(connection, STOCK, STOCK_FIELDS)
        self._clock, self._currency = clock, currency

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Offers and volumes of the titles that are sold here. Titles that DynamoDB did not get to in time, or whose item
        cannot be read, are `unanswered`; a failure only when no title at all could be answered."""
        as_of = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        async with answering("stock", deadline):
            found = await self._reader.read(title_ids, deadline)
            rows: dict[str, Availability] = {}
            unanswered = list(found.unanswered)
            since = time.perf_counter()
            for title_id, item in found.items.items():
                try:
                    row = stock_row(from_currency(self._currency, item), as_of)
                except ShapeError as error:
                    logger.warning("the stock item of %s cannot be read: %s", title_id, error)
                    unanswered.append(title_id)
                    continue
                if row.offers:
                    rows[title_id] = row
                if time.perf_counter() - since > _SLICE_S:
                    await asyncio.sleep(0)
                    since = time.perf_counter()
            if found.asked and len(unanswered) == found.asked:
                raise found.explain("stock")
            return AvailabilityPage(rows, tuple(unanswered))


_PAGE = 250
"""Items asked for at once: reading so many holds the event loop for about a millisecond."""


class DynamoReleases(TableAdapter):
    """A `ReleasesPort`: one item a volume that has a day."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, RELEASES)

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        async with answering("releases", deadline):
            where = {"month =": month}
            pages = self._pages(RELEASE_FIELDS, where, MOST_RELEASES, deadline, index=BY_MONTH, Limit=_PAGE)
            found = [release_of(item) async for page in pages for item in page]
        return tuple(sorted(found, key=lambda each: each.place))
