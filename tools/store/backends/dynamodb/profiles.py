"""Customer profiles and stated preferences in one DynamoDB table whose items expire (TTL).

DynamoDB deletes expired items within days, so reads of events filter them by time. These reads are eventually consistent,
since the latest views are in the conversation anyway; reads of stated preferences are consistent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from session.preferences import StoredPreferences
from session.profile import KEPT_DAYS, RECALLED, Event, Profile, format_moment, latest
from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import answering, code_of
from tools.store.backends.dynamodb.connection import Connection, TableAdapter
from tools.store.backends.dynamodb.items import (
    EVENT_FIELDS,
    PREFERENCES_FIELDS,
    event_item,
    event_of,
    owner_key,
    preferences_item,
    preferences_key,
    preferences_of,
    text,
)
from tools.store.backends.dynamodb.tables import PROFILE


class DynamoProfiles(TableAdapter):
    """A `ProfilePort` and a `PreferencesPort` over DynamoDB."""

    def __init__(self, connection: Connection, clock: Callable[[], datetime]) -> None:
        super().__init__(connection, PROFILE)
        self._clock = clock

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        async with answering("profile", deadline):
            await self.put((event_item(user, event) for user, event in entries), retry_rejected=False)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        oldest = format_moment(self._clock() - timedelta(days=KEPT_DAYS))
        where = {"owner =": owner_key(user), "moment >=": oldest}
        async with answering("profile", deadline):
            pages = self._pages(EVENT_FIELDS, where, RECALLED, deadline, ScanIndexForward=False, Limit=RECALLED)
            return Profile(latest([event_of(item, user) async for page in pages for item in page]))

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Deletes all of the user's items: events, also expired ones, and stated preferences."""
        owner = owner_key(user)
        async with answering("profile", deadline):
            async for page in self._pages(("owner", "moment"), {"owner =": owner}, 10**9, deadline, ConsistentRead=True):
                keys = [{"owner": {"S": owner}, "moment": {"S": text(item, "moment")}} for item in page]
                await self._send([{"DeleteRequest": {"Key": key}} for key in keys])

    async def stated(self, user: str, deadline: Deadline) -> StoredPreferences:
        """Returns the user's preferences by a consistent read, so that one stated a moment ago is included."""
        async with answering("profile", deadline):
            item = await self._get(preferences_key(user), PREFERENCES_FIELDS, deadline)
            return StoredPreferences() if item is None else preferences_of(item, user)

    async def keep(self, user: str, kept: StoredPreferences, in_place_of: str | None, deadline: Deadline) -> bool:
        """Stores `kept`, whose `revision` must be new, or deletes the item if `kept` has no preferences; returns True. If
        the stored revision is not `in_place_of` (None: nothing is stored), changes nothing and returns False."""
        unchanged: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(revision)"}
        if in_place_of is not None:
            seen = {":seen": {"S": in_place_of}}
            unchanged = {"ConditionExpression": "revision = :seen", "ExpressionAttributeValues": seen}
        operation, what = "delete_item", {"Key": preferences_key(user)}
        if kept.preferences:
            operation, what = "put_item", {"Item": preferences_item(user, kept)}
        async with answering("profile", deadline):
            try:
                await self._connection.call(operation, deadline, TableName=self._name, **what, **unchanged)
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True
