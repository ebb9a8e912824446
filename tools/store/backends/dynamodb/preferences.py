"""Stated preferences: `session.preferences.PreferenceStore` over the table of profiles, one item a customer."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from session.preferences import Kept
from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import (
    PREFERENCES_FIELDS,
    preferences_item,
    preferences_key,
    preferences_of,
    projection,
)
from tools.store.backends.dynamodb.probe import health_of
from tools.store.backends.dynamodb.tables import PROFILE
from tools.store.models import Health
from tools.store.records.shape import ShapeError

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
