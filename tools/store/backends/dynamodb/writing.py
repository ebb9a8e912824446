"""Many items into a table, or out of it, by BatchWriteItem: the seed's way in, and that of profiles, behind the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

from session.resilience.retry import Backoff, RetryPolicy
from tools.store.backends.aws_failures import failure_of
from tools.store.backends.dynamodb.attributes import Item
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.tables import Table
from tools.store.failures import Throttled
from tools.store.records.shape import ShapeError

BATCH = 25
"""Requests that BatchWriteItem takes at once."""

AT_ONCE = 8
PATIENCE_S = 60.0
"""How long one batch may be refused before the writer gives up: an on-demand table doubles its throughput in minutes."""

Progress = Callable[[int], None]


async def write_all(
    connection: Connection, table: Table, items: Iterable[Item], *, skip: int = 0, progress: Progress | None = None
) -> int:
    """Puts all items after the first `skip` and returns how many there were in all.

    An item replaces the one with its key, so writing the same again changes nothing. `progress` is told how many, counted
    from the first item, are surely written: started again with `skip` at that number, it goes on from there. Of items with
    one key the last stays. Raises `BackendFailure`, named for the table.
    """
    called = table.called(connection.address.prefix)
    rest = iter(items)
    done = sum(1 for _ in islice(rest, skip))
    while wave := list(islice(rest, BATCH * AT_ONCE)):
        unique = list({table.key_of(item): item for item in wave}.values())  # one key twice in a batch is refused
        puts = [{"PutRequest": {"Item": item}} for item in unique]
        try:
            await send(connection, called, puts)
        except Exception as error:
            raise failure_of(error, table.name) from error
        done += len(wave)
        if progress is not None:
            progress(done)
    return done


async def send(
    connection: Connection, called: str, requests: Sequence[Mapping[str, Any]], *, through_refusals: bool = True
) -> None:
    """All puts and deletes, several batches at once; no order among them. Raises the driver's errors.

    What a batch leaves unprocessed is asked for again; a batch that is refused whole, unless `through_refusals` is off.
    """
    batches = [requests[i : i + BATCH] for i in range(0, len(requests), BATCH)]
    places = asyncio.Semaphore(AT_ONCE)

    async def one(batch: Sequence[Mapping[str, Any]]) -> None:
        async with places:
            await _batch(connection, called, batch, through_refusals)

    try:
        async with asyncio.TaskGroup() as group:
            for batch in batches:
                group.create_task(one(batch))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


async def _batch(connection: Connection, called: str, requests: Sequence[Mapping[str, Any]], through_refusals: bool) -> None:
    """Asks again, with growing pauses, for what DynamoDB did not get to."""
    backoff = Backoff(RetryPolicy(base=0.05, longest=5.0))
    refused = 0
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                answer = await connection.call("batch_write_item", RequestItems={called: requests})
            except (BotoCoreError, ClientError) as error:
                if not (through_refusals and _passes(error)):
                    raise
                refused += 1
            else:
                left = _unprocessed(answer, called)
                if not left:
                    return
                refused = 1 if len(left) < len(requests) else refused + 1
                requests = left
            await asyncio.sleep(backoff.pause(min(refused, 10)))


def _passes(error: Exception) -> bool:
    """Whether it may go well later: too busy, too late, gone away or broken for a moment. A put may be repeated."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= 500 or isinstance(failure_of(error, "table"), Throttled)
    return isinstance(error, (NotConnected, HTTPClientError))


def _unprocessed(answer: Mapping[str, Any], called: str) -> Sequence[Mapping[str, Any]]:
    left = answer.get("UnprocessedItems", {})
    requests = left.get(called, []) if isinstance(left, dict) else None
    if not isinstance(requests, list):
        raise ShapeError("$.UnprocessedItems must be lists")
    return requests
