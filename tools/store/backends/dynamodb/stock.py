"""Prices and copies, by BatchGetItem.

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
from tools.store.backends.dynamodb.batch_reading import BatchRead, BatchReader
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import STOCK_FIELDS, stock_row
from tools.store.backends.dynamodb.probe import health_of
from tools.store.backends.dynamodb.tables import STOCK
from tools.store.models import Availability, AvailabilityPage, Health
from tools.store.records.shape import ShapeError

_SLICE_S = 0.0005
"""How long one call may keep the event loop with reading items before others have a turn."""

logger = logging.getLogger(__name__)


class DynamoStock:
    """The table of titles; one item has all volumes of one."""

    def __init__(self, connection: Connection, clock: Callable[[], datetime]) -> None:
        self._connection = connection
        self._reader = BatchReader(connection, STOCK, STOCK_FIELDS)
        self._clock = clock

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Offers and volumes of the titles that are sold here. Titles that DynamoDB did not get to in time, or whose item
        cannot be read, are `unanswered`; a failure only when no title at all could be answered."""
        as_of = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        async with answering("stock", deadline):
            found = await self._reader.read(title_ids, deadline)
            page = await _page(found, as_of)
            if found.asked and len(page.unanswered) == found.asked:
                raise found.explain("stock")
            return page

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, STOCK, deadline)


async def _page(found: BatchRead, as_of: str) -> AvailabilityPage:
    rows: dict[str, Availability] = {}
    unanswered = list(found.unanswered)
    since = time.perf_counter()
    for title_id, item in found.items.items():
        try:
            row = stock_row(item, as_of)
        except ShapeError as error:
            logger.warning("the stock item of %s cannot be read: %s", title_id, error)
            unanswered.append(title_id)
            continue
        if row.offers:
            rows[title_id] = row
        if time.perf_counter() - since > _SLICE_S:
            await asyncio.sleep(0)
            since = time.perf_counter()
    return AvailabilityPage(rows, tuple(unanswered))
