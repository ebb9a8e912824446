"""Prices and copies, by BatchGetItem.

Reads are eventually consistent: tools keep stock for 5 s anyway, a shop sells against its own counter at the till, and such
a read costs half and is served by any replica.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from session.deadline import Deadline
from tools.backends.decode import ShapeError
from tools.backends.dynamodb.attributes import Item, fits_as_key, text
from tools.backends.dynamodb.connection import Connection
from tools.backends.dynamodb.errors import answering
from tools.backends.dynamodb.items import STOCK_FIELDS, projection, stock_row
from tools.backends.dynamodb.probe import health_of
from tools.backends.dynamodb.tables import STOCK
from tools.failures import BackendFailure, DependencyFailure, Throttled, TimedOut
from tools.models import Availability, AvailabilityPage, Health
from tools.resilience.retry import Backoff, RetryPolicy

BATCH = 100
"""Keys that BatchGetItem takes at once."""

_SLICE_S = 0.0005
"""How long one call may keep the event loop with reading items before others have a turn."""

_ANSWER_S = 0.01
"""Kept back from the deadline, so that what is there is answered before somebody above stops waiting."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Batch:
    """Keys that were asked together: what came of them, and what DynamoDB did not get to."""

    items: list[Item] = field(default_factory=list)
    pending: tuple[str, ...] = ()
    failure: BackendFailure | None = None


class DynamoStock:
    """The table of titles; one item has all volumes of one."""

    def __init__(self, connection: Connection, clock: Callable[[], datetime]) -> None:
        self._connection = connection
        self._table = STOCK.called(connection.address.prefix)
        self._clock = clock
        self._backoff = Backoff(RetryPolicy(base=0.01, longest=0.1))

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Offers and volumes of the titles that are sold here. Titles that DynamoDB did not get to in time, or whose item
        cannot be read, are `unanswered`; a failure only when no title at all could be answered."""
        as_of = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        wanted = [title_id for title_id in dict.fromkeys(title_ids) if fits_as_key(title_id, "partition")]
        async with answering("stock", deadline):
            if not wanted:
                return AvailabilityPage({})
            parts = [tuple(wanted[i : i + BATCH]) for i in range(0, len(wanted), BATCH)]
            sooner = deadline.less(_ANSWER_S)
            if len(parts) == 1:
                batches = [await self._batch(parts[0], sooner)]
            else:
                batches = await asyncio.gather(*(self._batch(part, sooner) for part in parts))
            return await _page(batches, wanted, as_of)

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, STOCK, deadline)

    async def _batch(self, title_ids: tuple[str, ...], deadline: Deadline) -> _Batch:
        """Asks until everything is answered or the time is over."""
        batch = _Batch(pending=title_ids)
        attempt = 0
        try:
            async with answering("stock", deadline):
                while batch.pending:
                    if attempt:
                        await asyncio.sleep(self._backoff.pause(attempt))
                    await self._ask(batch)
                    attempt += 1
        except BackendFailure as failure:
            put_off = isinstance(failure, TimedOut) and attempt > 0 and batch.pending == title_ids
            batch.failure = _too_busy() if put_off else failure
        return batch

    async def _ask(self, batch: _Batch) -> None:
        """One round. Over 16 MB, or beyond its throughput, DynamoDB answers a part and names the rest."""
        keys = [{"title_id": {"S": title_id}} for title_id in batch.pending]
        request = {self._table: {"Keys": keys, "ConsistentRead": False, **projection(STOCK_FIELDS)}}
        answer = await self._connection.call("batch_get_item", RequestItems=request)
        items, left = _contents(answer, self._table)
        if not left <= set(batch.pending):
            raise ShapeError("$.UnprocessedKeys has keys that nobody asked for")
        batch.items += items
        batch.pending = tuple(title_id for title_id in batch.pending if title_id in left)


def _contents(answer: Mapping[str, Any], table: str) -> tuple[list[Any], set[str]]:
    """The items of an answer, and the ids that are left to ask for."""
    try:
        items = answer["Responses"].get(table, [])
        left = {key["title_id"]["S"] for key in answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])}
    except (KeyError, TypeError, AttributeError) as error:
        raise ShapeError("$ is no answer to BatchGetItem") from error
    if not isinstance(items, list):
        raise ShapeError("$.Responses must be lists")
    return items, left


async def _page(batches: Sequence[_Batch], wanted: Sequence[str], as_of: str) -> AvailabilityPage:
    rows: dict[str, Availability] = {}
    unanswered = [title_id for batch in batches for title_id in batch.pending]
    waiting = set(wanted).difference(unanswered)
    since = time.perf_counter()
    for item in (item for batch in batches for item in batch.items):
        title_id = _id_of(item)
        if title_id not in waiting:  # an answer about something else is not to be trusted at all
            raise ShapeError("$ is an item that nobody asked for")
        waiting.discard(title_id)
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
    if len(unanswered) == len(wanted):
        failures = [batch.failure for batch in batches if batch.failure is not None]
        raise failures[0] if failures else DependencyFailure("The stock cannot be read.", dependency="stock")
    return AvailabilityPage(rows, tuple(unanswered))


def _id_of(item: Any) -> str:
    if not isinstance(item, dict):
        raise ShapeError("$ must be an item")
    return text(item, "title_id", "$")


def _too_busy() -> Throttled:
    return Throttled("The stock is too busy to answer.", dependency="stock")
