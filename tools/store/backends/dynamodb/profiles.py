"""Long-term profiles: `session.profile.ProfileStore` over one table that forgets by itself (TTL).

DynamoDB removes what has expired within days, not at once, so reads leave it out by time. They are eventually consistent:
what somebody viewed a moment ago is in the conversation anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

from session.preferences import Kept
from session.profile import KEPT_DAYS, RECALLED, Event, Profile, latest, written
from session.resilience.deadline import Backoff, Deadline, RetryPolicy
from tools.store.backends.aws_failures import answering, failure_of
from tools.store.backends.dynamodb.attributes import Item, text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import (
    EVENT_FIELDS,
    PREFERENCES_FIELDS,
    event_item,
    event_of,
    owner_key,
    preferences_item,
    preferences_key,
    preferences_of,
    projection,
)
from tools.store.backends.dynamodb.reading import health_of, pages
from tools.store.backends.dynamodb.tables import PROFILE, Table
from tools.store.failures import Throttled
from tools.store.models import Health
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


class DynamoProfiles:
    def __init__(self, connection: Connection, clock: Callable[[], datetime]) -> None:
        self._connection = connection
        self._table = PROFILE.called(connection.address.prefix)
        self._clock = clock

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        """Adds events, each to the profile of its user; the same one told twice is one item."""
        unique = {PROFILE.key_of(item): item for item in (event_item(user, event) for user, event in entries)}
        puts = [{"PutRequest": {"Item": item}} for item in unique.values()]
        async with answering("profile", deadline):
            await send(self._connection, self._table, puts, through_refusals=False)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        """The latest events that are still kept."""
        oldest = written(self._clock() - timedelta(days=KEPT_DAYS))
        asked = projection((*EVENT_FIELDS, "moment"))
        query: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": f"#0 = :owner AND #{len(EVENT_FIELDS)} >= :oldest",
            "ExpressionAttributeValues": {":owner": {"S": owner_key(user)}, ":oldest": {"S": oldest}},
            "ScanIndexForward": False,
            "Limit": RECALLED,
            **asked,
        }
        async with answering("profile", deadline):
            events = [
                event_of(item, user) async for page in pages(self._connection, query, RECALLED, deadline) for item in page
            ]
            return Profile(latest(events))

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Removes everything, what has expired included."""
        query: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#0 = :owner",
            "ExpressionAttributeValues": {":owner": {"S": owner_key(user)}},
            "ConsistentRead": True,
            **projection(("owner", "moment")),
        }
        async with answering("profile", deadline):
            async for page in pages(self._connection, query, 10**9, deadline):
                keys = [{"owner": {"S": owner_key(user)}, "moment": {"S": text(item, "moment", "$")}} for item in page]
                await send(self._connection, self._table, [{"DeleteRequest": {"Key": key}} for key in keys])

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, PROFILE, deadline)


CHANGED_MEANWHILE = "ConditionalCheckFailedException"


class DynamoPreferences:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = PROFILE.called(connection.address.prefix)

    async def stated(self, user: str, deadline: Deadline) -> Kept:
        """What is kept for a person. Consistent: what they said a moment ago they expect to be known."""
        async with answering("profile", deadline):
            answer = await self._connection.call(
                "get_item",
                deadline,
                TableName=self._table,
                Key=preferences_key(user),
                ConsistentRead=True,
                **projection(PREFERENCES_FIELDS),
            )
            if "Item" not in answer:
                return Kept()
            if not isinstance(answer["Item"], dict):
                raise ShapeError("$.Item must be an object")
            return preferences_of(answer["Item"], user)

    async def keep(self, user: str, kept: Kept, in_place_of: str | None, deadline: Deadline) -> bool:
        """Puts it in place of the state of that revision, or removes the item."""
        only = _unchanged(in_place_of)
        async with answering("profile", deadline):
            try:
                if kept.preferences:
                    item = preferences_item(user, kept)
                    await self._connection.call("put_item", deadline, TableName=self._table, Item=item, **only)
                else:
                    key = preferences_key(user)
                    await self._connection.call("delete_item", deadline, TableName=self._table, Key=key, **only)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") != CHANGED_MEANWHILE:
                    raise
                return False
        return True

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, PROFILE, deadline)


def _unchanged(revision: str | None) -> dict[str, Any]:
    """The condition that nobody has written since."""
    if revision is None:
        return {"ConditionExpression": "attribute_not_exists(revision)"}
    return {"ConditionExpression": "revision = :seen", "ExpressionAttributeValues": {":seen": {"S": revision}}}
