"""One client for all tables, with a bounded pool of connections and no retries of its own; and reads of a table: an item,
the pages of a query, and up to a hundred items a request by their keys.

The driver's timeouts are fixed per client, so they are only the last resort: each call is bounded by its deadline from
outside, and cancelling a call closes its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from aiobotocore.parsers import AioJSONParser, AioResponseParserFactory
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from session.resilience.deadline import Deadline, RetryPolicy
from tools.store.backends.aws_client import AwsClient, answering, client_config
from tools.store.backends.dynamodb.items import Item, fits_as_key, projection, text
from tools.store.backends.dynamodb.tables import DynamoAddress, Index, Table
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut
from tools.store.models import Health
from tools.store.records.shape import ShapeError

POOL = 328
"""Most connections: 64 for each of five guarded backends (their bulkheads), and 8 for the concurrent batches of the profile
writer, so that a slow backend never takes another's."""

Json = dict[str, Any]
_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


class _PlainParser(AioJSONParser):  # type: ignore[misc]
    """Parses a body as plain JSON: walking a large item by the service's model takes longer than all other work."""

    def _do_parse(self, response: Any, shape: Any) -> Any:
        return from_json(response["body"])


class _PlainParsers(AioResponseParserFactory):  # type: ignore[misc]
    def create_parser(self, protocol_name: str) -> _PlainParser:
        return _PlainParser(**self._defaults)


def _add_traceparent(request: Any, **_: Any) -> None:
    """Adds the traceparent header after signing, since proxies on the way write their own."""
    if (traceparent := _traceparent.get()) is not None:
        request.headers["traceparent"] = traceparent


class Connection:
    """Sends all requests to DynamoDB."""

    def __init__(self, address: DynamoAddress, *, in_bulk: bool = False) -> None:
        """Prepares the client. `in_bulk` raises its read timeout from 1 to 20 seconds, for the batches of the seed."""
        self.address = address
        # Parameters are not validated: all are made here, in the format of the wire.
        config = client_config(0.5, 20.0 if in_bulk else 1.0, POOL, parameter_validation=False)
        self._aws = AwsClient("dynamodb", address.region, address.endpoint, config, _PlainParsers(), _add_traceparent)

    async def start(self) -> None:
        """Starts to open the client, and waits for it for a second at most."""
        await self._aws.start()

    async def aclose(self) -> None:
        await self._aws.aclose()

    async def call(self, operation: str, deadline: Deadline | None = None, /, **parameters: Any) -> Json:
        """Sends a request and returns the answer as plain JSON. The caller bounds the time; `deadline` only gives the
        traceparent header. Raises the driver's errors, and ShapeError for anything but a JSON object."""
        client = await self._aws.ready()
        reads = operation == "get_item"
        if reads:  # else the answer for an absent item would be {}, like any empty answer
            parameters["ReturnConsumedCapacity"] = "TOTAL"
        trace = _traceparent.set(deadline.traceparent if deadline else None)
        try:
            body = await getattr(client, operation)(**parameters)
        except (BotoCoreError, ClientError, ResponseParserError, OSError):
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # The driver parses errors unchecked, so a malformed error ends here as well.
            raise ShapeError("$ is not JSON that makes sense") from error
        finally:
            _traceparent.reset(trace)
        if not isinstance(body, dict):
            raise ShapeError("$ must be an object")
        if reads and "Item" not in body and not isinstance(body.get("ConsumedCapacity"), dict):
            raise ShapeError("$ is no answer to GetItem")
        return body


class TableAdapter:
    """Reads of one table. `_get` and `_pages` raise the driver's errors and ShapeError."""

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection, self._table = connection, table
        self._name = table.full_name(connection.address.prefix)

    async def health(self, deadline: Deadline) -> Health:
        """Checks that the table can be read. Never raises: `detail` states the problem, in words that are safe to show."""
        try:
            async with answering(self._table.name, deadline):
                await self._connection.call("get_item", TableName=self._name, Key=probe_key(self._table))
        except BackendFailure as failure:
            return Health(ok=False, detail=failure.message)
        return Health(ok=True, detail="DynamoDB")

    async def _get(self, key: Item, names: Sequence[str], deadline: Deadline) -> Item | None:
        """Returns the named attributes of an item, by a consistent read; None if it is absent."""
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
        """Yields the named attributes of at most `most` items, by pages of at most 1 MB. `where` has conditions on keys,
        such as {"owner =": "o"}; `containing`: an attribute that is a list, and the text that it has to contain."""
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


def probe_key(table: Table) -> Item:
    """Returns a key that no item has. Reading it checks credentials, permission and table, and needs no permission but that
    of serving."""
    return {name: {"S": "-"} for name in (table.partition_key, table.sort_key) if name}


BATCH = 100
"""Most keys of one BatchGetItem."""


@dataclass(slots=True)
class BatchRead:
    """The result of reading `asked` keys: `items` by key, the `unanswered` keys that DynamoDB did not get to, and the
    `failure`, if any. Other keys have no item."""

    asked: int
    items: dict[str, Item] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    failure: BackendFailure | None = None

    def explain(self, dependency: str) -> BackendFailure:
        """Returns the failure that explains the missing answer."""
        return self.failure or DependencyFailure(f"The {dependency} cannot be read.", dependency=dependency)


@dataclass(slots=True)
class _Batch:
    """The state of one batch: the items that came, and the keys that DynamoDB did not get to."""

    items: list[Any] = field(default_factory=list)
    pending: tuple[str, ...] = ()
    failure: BackendFailure | None = None


class BatchReader:
    """Reads `fields` of items by key. Reads are eventually consistent: at half the cost, and served by any replica."""

    def __init__(self, connection: Connection, table: Table, fields: Sequence[str]) -> None:
        self._connection, self._key = connection, table.partition_key
        self._dependency = table.name
        self._table = table.full_name(connection.address.prefix)
        self._asked = {"ConsistentRead": False, **projection(fields)}
        self._retry = RetryPolicy(base=0.01, longest=0.1)

    async def read(self, keys: Sequence[str], deadline: Deadline) -> BatchRead:
        """Reads each key once. Raises ShapeError for an item that was not asked for."""
        wanted = [key for key in dict.fromkeys(keys) if fits_as_key(key)]
        parts = [tuple(wanted[i : i + BATCH]) for i in range(0, len(wanted), BATCH)]
        sooner = deadline.earlier_by(0.01)  # answers before a caller above stops waiting
        if len(parts) == 1:
            return self._collect_found([await self._batch(parts[0], sooner)], wanted)
        return self._collect_found(await asyncio.gather(*(self._batch(part, sooner) for part in parts)), wanted)

    def _collect_found(self, batches: Sequence[_Batch], wanted: Sequence[str]) -> BatchRead:
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
        """Requests the keys, and unprocessed ones again, until all are answered or the deadline has passed."""
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
        """Sends one BatchGetItem. Over 16 MB, or beyond its throughput, DynamoDB answers a part and names the rest."""
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
