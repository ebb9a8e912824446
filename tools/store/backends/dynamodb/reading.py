"""Reads of a table: an item, the pages of a query, and up to a hundred items a request by their keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from session.resilience.deadline import Deadline, RetryPolicy
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import Item, fits_as_key, text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import projection
from tools.store.backends.dynamodb.tables import Index, Table
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut
from tools.store.models import Health
from tools.store.records.shape import ShapeError


class TableAdapter:
    """One table. `get` and `pages` raise the driver's errors and ShapeError."""

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection, self._table = connection, table
        self._name = table.called(connection.address.prefix)

    async def health(self, deadline: Deadline) -> Health:
        """True if the table can be read now. Never raises: `detail` says what is wrong, in words that are safe to show."""
        try:
            async with answering(self._table.name, deadline):
                await self._connection.call("get_item", TableName=self._name, Key=key_of_nobody(self._table))
        except BackendFailure as failure:
            return Health(ok=False, detail=failure.message)
        return Health(ok=True, detail="DynamoDB")

    async def _get(self, key: Item, names: Sequence[str], deadline: Deadline) -> Item | None:
        """These attributes of an item, read consistently."""
        answer = await self._connection.call(
            "get_item", deadline, TableName=self._name, Key=key, ConsistentRead=True, **projection(names)
        )
        if "Item" in answer and not isinstance(answer["Item"], dict):
            raise ShapeError("$.Item must be an object")
        return answer.get("Item")

    async def _pages(
        self,
        names: Sequence[str],
        where: Mapping[str, str],
        most: int,
        deadline: Deadline,
        *,
        index: Index | None = None,
        containing: tuple[str, str] | None = None,
        **parameters: Any,
    ) -> AsyncIterator[list[Item]]:
        """These attributes of at most `most` items, a page at a time: a page ends at 1 MB. `where` are conditions on keys,
        such as {"owner =": "o"}; `containing`: an attribute that is a list, and the text that has to be in it."""
        asked = projection(names)
        keys, values = asked["ExpressionAttributeNames"], {}
        conditions = []
        for number, (condition, value) in enumerate(where.items()):
            name, operator = condition.split()
            keys[f"#k{number}"], values[f":k{number}"] = name, {"S": value}
            conditions.append(f"#k{number} {operator} :k{number}")
        if containing is not None:
            keys["#list"], values[":text"] = containing[0], {"S": containing[1]}
            asked["FilterExpression"] = "contains(#list, :text)"
        asked |= {"KeyConditionExpression": " AND ".join(conditions), "ExpressionAttributeValues": values, **parameters}
        asked |= {"TableName": self._name, **({"IndexName": index.name} if index else {})}
        seen = 0
        after: dict[str, Any] = {}
        while True:
            answer = await self._connection.call("query", deadline, **asked, **after)
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


def key_of_nobody(table: Table) -> Item:
    """A key that no item has. Asking for it proves credentials, permission and table, and needs no permission but
    serving's."""
    return {name: {"S": "-"} for name in (table.partition_key, table.sort_key) if name}


BATCH = 100
"""Keys that BatchGetItem takes at once."""


@dataclass(slots=True)
class BatchRead:
    """`items` by key; `unanswered` are those of the `asked` keys that DynamoDB did not get to. A key in neither has no
    item."""

    asked: int
    items: dict[str, Item] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    failure: BackendFailure | None = None

    def explain(self, dependency: str) -> BackendFailure:
        """Why nothing can be answered."""
        return self.failure or DependencyFailure(f"The {dependency} cannot be read.", dependency=dependency)


@dataclass(slots=True)
class _Batch:
    """Keys that were asked together: the items that came, and the keys that DynamoDB did not get to."""

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
        self._retry = RetryPolicy(base=0.01, longest=0.1)

    async def read(self, keys: Sequence[str], deadline: Deadline) -> BatchRead:
        """Each key once. Raises ShapeError for an item that was not asked for: such an answer is not to be trusted."""
        wanted = [key for key in dict.fromkeys(keys) if fits_as_key(key)]
        parts = [tuple(wanted[i : i + BATCH]) for i in range(0, len(wanted), BATCH)]
        sooner = deadline.less(0.01)  # answers before a caller above stops waiting
        if len(parts) == 1:
            return self._found([await self._batch(parts[0], sooner)], wanted)
        return self._found(await asyncio.gather(*(self._batch(part, sooner) for part in parts)), wanted)

    def _found(self, batches: Sequence[_Batch], wanted: Sequence[str]) -> BatchRead:
        found = BatchRead(len(wanted), unanswered=[key for batch in batches for key in batch.pending])
        found.failure = next((batch.failure for batch in batches if batch.failure is not None), None)
        waiting = set(wanted).difference(found.unanswered)
        for item in (item for batch in batches for item in batch.items):
            key = text(item, self._key)
            if key not in waiting:
                raise ShapeError("$ is an item that was not asked for")
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
                        await asyncio.sleep(self._retry.pause(attempt))
                    await self._ask(batch, deadline)
                    attempt += 1
        except BackendFailure as failure:
            batch.failure = failure
            if isinstance(failure, TimedOut) and attempt > 0 and batch.pending == keys:
                batch.failure = Throttled(f"The {self._dependency} is too busy to answer.", dependency=self._dependency)
        return batch

    async def _ask(self, batch: _Batch, deadline: Deadline) -> None:
        """One round. Over 16 MB, or beyond its throughput, DynamoDB answers a part and names the rest."""
        keys = [{self._key: {"S": key}} for key in batch.pending]
        request = {self._table: {"Keys": keys, **self._asked}}
        answer = await self._connection.call("batch_get_item", deadline, RequestItems=request)
        try:
            items = answer["Responses"].get(self._table, [])
            left = {key[self._key]["S"] for key in answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])}
        except (KeyError, TypeError, AttributeError) as error:
            raise ShapeError("$ is no answer to BatchGetItem") from error
        if not isinstance(items, list):
            raise ShapeError("$.Responses must be lists")
        if not left <= set(batch.pending):
            raise ShapeError("$.UnprocessedKeys has keys that were not asked for")
        batch.items += items
        batch.pending = tuple(key for key in batch.pending if key in left)
