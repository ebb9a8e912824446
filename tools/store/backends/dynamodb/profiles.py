"""Long-term profiles: `session.profile.ProfileStore` over one table that forgets by itself (TTL).

DynamoDB removes what has expired within days, not at once, so reads leave it out by time. They are eventually consistent:
what somebody viewed a moment ago is in the conversation anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from session.profile import KEPT_DAYS, RECALLED, Event, Profile, latest, written
from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import text
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import EVENT_FIELDS, event_item, event_of, owner_key, projection
from tools.store.backends.dynamodb.paging import pages
from tools.store.backends.dynamodb.probe import health_of
from tools.store.backends.dynamodb.tables import PROFILE
from tools.store.backends.dynamodb.writing import send
from tools.store.models import Health


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
