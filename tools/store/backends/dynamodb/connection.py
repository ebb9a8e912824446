"""A DynamoDB client with a bounded connection pool, and the reads and writes of a table: items, queries and batches.

The driver's timeouts are fixed per client and only a last resort: callers bound each call by its deadline, and a cancelled
call closes its connection."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from aiobotocore.parsers import AioJSONParser, AioResponseParserFactory
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from session.resilience.deadline import Deadline, RetryPolicy
from session.resilience.tasks import gather_or_cancel
from tools.store.backends.aws_client import AwsClient, answering, client_config, is_throttled
from tools.store.backends.dynamodb.items import Item, fits_as_key, projection, text
from tools.store.backends.dynamodb.tables import DynamoAddress, Index, Table
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut
from tools.store.models import Health
from tools.store.shape import ShapeError

POOL = 328
"""Most connections: 64 for each of five guarded backends (their bulkheads), and 8 for the concurrent batches of the profile
writer, so that a slow backend never takes the connections of another."""
READ_BATCH, WRITE_BATCH = 100, 25
"""Most keys of one BatchGetItem, and most requests of one BatchWriteItem."""
WRITES_AT_ONCE = 8
WRITE_SECONDS = 60.0
"""Timeout in seconds of a batch of writes with all its retries: long enough for an on-demand table to gain throughput."""
_SLICE_S = 0.0005
"""Seconds for which one call may decode items before it yields to the event loop."""

Json = dict[str, Any]
T = TypeVar("T")
logger = logging.getLogger(__name__)
_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


class _PlainParser(AioJSONParser):  # type: ignore[misc]
    """Parses response bodies as plain JSON, which is much faster for large items than botocore's model-driven parser."""

    def _do_parse(self, response: Any, shape: Any) -> Any:
        return from_json(response["body"])


class _PlainParsers(AioResponseParserFactory):  # type: ignore[misc]
    def create_parser(self, protocol_name: str) -> _PlainParser:
        return _PlainParser(**self._defaults)


def _add_traceparent(request: Any, **_: Any) -> None:
    """Adds the current call's traceparent header, if there is one, to a request that is already signed. The signature must
    not cover the header, since proxies may replace it."""
    if (traceparent := _traceparent.get()) is not None:
        request.headers["traceparent"] = traceparent


class Connection(AwsClient):
    def __init__(self, address: DynamoAddress, *, in_bulk: bool = False) -> None:
        """`in_bulk` raises the read timeout from 1 to 20 seconds, for bulk writes."""
        self.address = address
        # All parameters are made here, so the driver need not validate them.
        config = client_config(0.5, 20.0 if in_bulk else 1.0, POOL, parameter_validation=False)
        super().__init__("dynamodb", address.region, address.endpoint, config)
        self._session.register_component("response_parser_factory", _PlainParsers())
        self._session.register("before-send", _add_traceparent)

    async def call(self, operation: str, deadline: Deadline | None = None, /, **parameters: Any) -> Json:
        """Sends a request and returns the response as plain JSON. The caller bounds the time; `deadline` only supplies the
        traceparent header. Raises the driver's errors, and ShapeError for a malformed response."""
        client = await self.ready()
        reads = operation == "get_item"
        if reads:  # else the response for an absent item would be {}, like a malformed one
            parameters["ReturnConsumedCapacity"] = "TOTAL"
        trace = _traceparent.set(deadline.traceparent if deadline else None)
        try:
            body = await getattr(client, operation)(**parameters)
        except (BotoCoreError, ClientError, ResponseParserError, OSError):
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # The driver also raises these for a malformed error response.
            raise ShapeError("$ is not JSON that makes sense") from error
        finally:
            _traceparent.reset(trace)
        if not isinstance(body, dict):
            raise ShapeError("$ must be an object")
        if reads and "Item" not in body and not isinstance(body.get("ConsumedCapacity"), dict):
            raise ShapeError("$ is no answer to GetItem")
        return body


class TableAdapter:
    """Reads and writes one table. Methods raise the driver's errors, and ShapeError for a malformed answer, if they do not
    say otherwise."""

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection, self._table = connection, table
        self._name = table.full_name(connection.address.prefix)

    async def health(self, deadline: Deadline) -> Health:
        """Checks that the table can be read. Never raises: `detail` states the problem, without internal details."""
        try:
            async with answering(self._table.name, deadline):
                await self._connection.call("get_item", TableName=self._name, Key=probe_key(self._table))
        except BackendFailure as failure:
            return Health(ok=False, detail=failure.message)
        return Health(ok=True, detail="DynamoDB")

    async def _get(self, key: Item, names: Sequence[str], deadline: Deadline) -> Item | None:
        """Returns the named attributes of an item, by a consistent read; None if the item does not exist."""
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
        """Yields the named attributes of at most `most` items, in pages of up to 1 MB. `where` has conditions on keys, such
        as {"owner =": "o"}. `containing` is a list attribute and a text that the list has to contain."""
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

    async def _read(
        self, keys: Sequence[str], names: Sequence[str], decode: Callable[[Item, str], T], noun: str, deadline: Deadline
    ) -> tuple[dict[str, T], tuple[str, ...]]:
        """Reads the named attributes of items by key, each distinct key once, in concurrent batches, until just before the
        deadline. The reads are eventually consistent, which costs half and lets any replica serve them.

        Returns `decode(item, key)` by key, and the unanswered keys: those whose request failed or was late, and those whose
        item is malformed (logged, with `noun` for the item). A key in neither has no item, or DynamoDB refuses the key.
        Raises BackendFailure if all keys are unanswered, ShapeError for an item without a key or with a key not
        requested."""
        wanted = [key for key in dict.fromkeys(keys) if fits_as_key(key)]
        asked, items = {"ConsistentRead": False, **projection(names)}, list[Any]()
        sooner = deadline.earlier_by(0.01)  # returns partial results before the caller's own timeout
        parts = [tuple(wanted[first : first + READ_BATCH]) for first in range(0, len(wanted), READ_BATCH)]
        batches = [self._read_batch(part, asked, items, sooner) for part in parts]
        ended = [await batches[0]] if len(batches) == 1 else await asyncio.gather(*batches)
        unanswered = [key for left, _ in ended for key in left]
        waiting, found = set(wanted).difference(unanswered), dict[str, T]()
        since = time.perf_counter()
        for item in items:
            key = text(item, self._table.partition_key)
            if key not in waiting:
                raise ShapeError("$ is an item that was not asked for")
            waiting.discard(key)
            try:
                found[key] = decode(item, key)
            except ShapeError as error:
                logger.warning("the %s of %s cannot be read: %s", noun, key, error)
                unanswered.append(key)
            if time.perf_counter() - since > _SLICE_S:
                await asyncio.sleep(0)
                since = time.perf_counter()
        if wanted and len(unanswered) == len(wanted):
            malformed = DependencyFailure(f"The {self._table.name} cannot be read.", dependency=self._table.name)
            raise next((failure for _, failure in ended if failure is not None), malformed)
        return found, tuple(unanswered)

    async def _read_batch(
        self, keys: tuple[str, ...], asked: Mapping[str, Any], items: list[Any], deadline: Deadline
    ) -> tuple[tuple[str, ...], BackendFailure | None]:
        """Requests the keys, and unprocessed keys again, until all are answered, a request fails or the deadline passes.
        Adds the items to `items`. Returns the unread keys and the failure; () and None if all were read."""
        retry, pending, attempt = RetryPolicy(base=0.01, longest=0.1), keys, 0
        try:
            async with answering(self._table.name, deadline):
                while pending:
                    if attempt:
                        await asyncio.sleep(retry.pause(attempt))
                    pending = await self._request(pending, asked, items, deadline)
                    attempt += 1
        except BackendFailure as failure:
            if isinstance(failure, TimedOut) and attempt > 0 and pending == keys:
                failure = Throttled(f"The {self._table.name} is too busy to answer.", dependency=self._table.name)
            return pending, failure
        return (), None

    async def _request(
        self, keys: tuple[str, ...], asked: Mapping[str, Any], items: list[Any], deadline: Deadline
    ) -> tuple[str, ...]:
        """Adds the items of the keys to `items`. Returns the keys that were not processed. Raises the driver's errors and
        ShapeError."""
        name = self._table.partition_key
        request = {self._name: {"Keys": [{name: {"S": key}} for key in keys], **asked}}
        answer = await self._connection.call("batch_get_item", deadline, RequestItems=request)
        try:
            found = answer["Responses"].get(self._name, [])
            left = {key[name]["S"] for key in answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])}
        except (KeyError, TypeError, AttributeError) as error:
            raise ShapeError("$ is no answer to BatchGetItem") from error
        if not isinstance(found, list):
            raise ShapeError("$.Responses must be lists")
        if not left <= set(keys):
            raise ShapeError("$.UnprocessedKeys has keys that were not asked for")
        items += found
        return tuple(key for key in keys if key in left)

    async def put(self, items: Iterable[Item], *, retry_rejected: bool = True) -> None:
        """Puts the items into the table, where each replaces the stored item with the same key. Of items with equal keys,
        only the last is put. Retries and errors are those of `_send`."""
        unique = {self._table.key_of(item): item for item in items}  # DynamoDB refuses a batch with duplicate keys
        await self._send([{"PutRequest": {"Item": item}} for item in unique.values()], retry_rejected=retry_rejected)

    async def _send(self, requests: Sequence[Mapping[str, Any]], *, retry_rejected: bool = True) -> None:
        """Sends all puts and deletes in batches, `WRITES_AT_ONCE` at a time, in no particular order. Sends again, with
        backoff, unprocessed items and, if `retry_rejected`, batches that failed for a temporary reason. Raises the driver's
        errors, ShapeError, and TimeoutError after `WRITE_SECONDS` for one batch."""
        places = asyncio.Semaphore(WRITES_AT_ONCE)
        batches = [requests[first : first + WRITE_BATCH] for first in range(0, len(requests), WRITE_BATCH)]
        await gather_or_cancel(self._send_batch(batch, places, retry_rejected) for batch in batches)

    async def _send_batch(
        self, requests: Sequence[Mapping[str, Any]], places: asyncio.Semaphore, retry_rejected: bool
    ) -> None:
        retry, refused = RetryPolicy(base=0.05, longest=5.0), 0
        async with places, asyncio.timeout(WRITE_SECONDS):
            while True:
                try:
                    answer = await self._connection.call("batch_write_item", RequestItems={self._name: requests})
                except (BotoCoreError, ClientError) as error:
                    if not (retry_rejected and _is_temporary(error)):
                        raise
                    refused += 1
                else:
                    unprocessed = answer.get("UnprocessedItems")
                    left = unprocessed.get(self._name, []) if isinstance(unprocessed, dict) else None
                    if not isinstance(left, list):
                        raise ShapeError("$.UnprocessedItems must be lists")
                    if not left:
                        return
                    refused = 1 if len(left) < len(requests) else refused + 1
                    requests = left
                await asyncio.sleep(retry.pause(min(refused, 10)))


def _is_temporary(error: Exception) -> bool:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= 500 or is_throttled(error)
    return isinstance(error, (NotConnected, HTTPClientError))


def probe_key(table: Table) -> Item:
    """Returns a key that no item has. Looking it up checks credentials, permissions and the table, and needs only the
    permissions of normal reads."""
    return {name: {"S": "-"} for name in (table.partition_key, table.sort_key) if name}
