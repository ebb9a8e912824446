"""Items by their keys, a hundred a request: what came, and what DynamoDB did not get to in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from session.resilience.deadline import Backoff, Deadline, RetryPolicy
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import Item, fits_as_key, text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import projection
from tools.store.backends.dynamodb.tables import Table
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut
from tools.store.models import Health
from tools.store.records.shape import ShapeError


async def pages(
    connection: Connection, query: dict[str, Any], most: int, deadline: Deadline | None = None
) -> AsyncIterator[list[Item]]:
    """The items of a Query, at most `most` of them. A page ends at 1 MB, so there can be several."""
    seen = 0
    after: dict[str, Any] = {}
    while True:
        answer = await connection.call("query", deadline, **query, **after)
        items = answer.get("Items")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ShapeError("$.Items must be a list of objects")
        yield items[: most - seen]
        seen += len(items)
        last = answer.get("LastEvaluatedKey")
        if seen >= most or not last:
            return
        if {"ExclusiveStartKey": last} == after or not isinstance(last, dict):
            raise ShapeError("$.LastEvaluatedKey leads nowhere")
        after = {"ExclusiveStartKey": last}


_NOBODY = {"S": "-"}
"""A key that no item has. Asking for it proves credentials, permission and table, and needs no permission but serving's."""


async def health_of(connection: Connection, table: Table, deadline: Deadline) -> Health:
    """Never raises: `detail` says what is wrong, in words that are safe to show."""
    try:
        async with answering(table.name, deadline):
            called = table.called(connection.address.prefix)
            await connection.call("get_item", TableName=called, Key=key_of_nobody(table))
    except BackendFailure as failure:
        return Health(ok=False, detail=failure.message)
    return Health(ok=True, detail="DynamoDB")


def key_of_nobody(table: Table) -> Item:
    return {name: _NOBODY for name in (table.partition_key, table.sort_key) if name}


BATCH = 100
"""Keys that BatchGetItem takes at once."""
_ANSWER_S = 0.01
"""Kept back from the deadline, so that what is there is answered before somebody above stops waiting."""


@dataclass(slots=True)
class BatchRead:
    """`items` by key; `unanswered` of the `asked` keys were not got to. A key in neither has no item."""

    asked: int
    items: dict[str, Item] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    failure: BackendFailure | None = None

    def explain(self, dependency: str) -> BackendFailure:
        """Why nothing can be answered."""
        return self.failure or DependencyFailure(f"The {dependency} cannot be read.", dependency=dependency)


@dataclass(slots=True)
class _Batch:
    """Keys that were asked together: what came of them, and what DynamoDB did not get to."""

    items: list[Any] = field(default_factory=list)
    pending: tuple[str, ...] = ()
    failure: BackendFailure | None = None


class BatchReader:
    """Reads `fields` of a table that has one key. Eventually consistent, which costs half and is served by any replica."""

    def __init__(self, connection: Connection, table: Table, fields: Sequence[str]) -> None:
        self._connection, self._key = connection, table.partition_key
        self._dependency = table.name
        self._table = table.called(connection.address.prefix)
        self._asked = {"ConsistentRead": False, **projection(fields)}
        self._backoff = Backoff(RetryPolicy(base=0.01, longest=0.1))

    async def read(self, keys: Sequence[str], deadline: Deadline) -> BatchRead:
        """Each key once. Raises ShapeError for an item that nobody asked for: such an answer is not to be trusted at all."""
        wanted = [key for key in dict.fromkeys(keys) if fits_as_key(key, "partition")]
        parts = [tuple(wanted[i : i + BATCH]) for i in range(0, len(wanted), BATCH)]
        sooner = deadline.less(_ANSWER_S)
        if len(parts) == 1:
            return self._found([await self._batch(parts[0], sooner)], wanted)
        return self._found(await asyncio.gather(*(self._batch(part, sooner) for part in parts)), wanted)

    def _found(self, batches: Sequence[_Batch], wanted: Sequence[str]) -> BatchRead:
        found = BatchRead(len(wanted), unanswered=[key for batch in batches for key in batch.pending])
        found.failure = next((batch.failure for batch in batches if batch.failure is not None), None)
        waiting = set(wanted).difference(found.unanswered)
        for item in (item for batch in batches for item in batch.items):
            if not isinstance(item, dict):
                raise ShapeError("$ must be an item")
            key = text(item, self._key, "$")
            if key not in waiting:
                raise ShapeError("$ is an item that nobody asked for")
            waiting.discard(key)
            found.items[key] = item
        return found

    async def _batch(self, keys: tuple[str, ...], deadline: Deadline) -> _Batch:
        """Asks until everything is answered or the time is over."""
        batch = _Batch(pending=keys)
        attempt = 0
        try:
            async with answering(self._dependency, deadline):
                while batch.pending:
                    if attempt:
                        await asyncio.sleep(self._backoff.pause(attempt))
                    await self._ask(batch, deadline)
                    attempt += 1
        except BackendFailure as failure:
            put_off = isinstance(failure, TimedOut) and attempt > 0 and batch.pending == keys
            batch.failure = self._too_busy() if put_off else failure
        return batch

    async def _ask(self, batch: _Batch, deadline: Deadline) -> None:
        """One round. Over 16 MB, or beyond its throughput, DynamoDB answers a part and names the rest."""
        keys = [{self._key: {"S": key}} for key in batch.pending]
        request = {self._table: {"Keys": keys, **self._asked}}
        answer = await self._connection.call("batch_get_item", deadline, RequestItems=request)
        items, left = self._contents(answer)
        if not left <= set(batch.pending):
            raise ShapeError("$.UnprocessedKeys has keys that nobody asked for")
        batch.items += items
        batch.pending = tuple(key for key in batch.pending if key in left)

    def _contents(self, answer: Mapping[str, Any]) -> tuple[list[Any], set[str]]:
        """The items of an answer, and the keys that are left to ask for."""
        try:
            items = answer["Responses"].get(self._table, [])
            left = {key[self._key]["S"] for key in answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])}
        except (KeyError, TypeError, AttributeError) as error:
            raise ShapeError("$ is no answer to BatchGetItem") from error
        if not isinstance(items, list):
            raise ShapeError("$.Responses must be lists")
        return items, left

    def _too_busy(self) -> Throttled:
        return Throttled(f"The {self._dependency} is too busy to answer.", dependency=self._dependency)
