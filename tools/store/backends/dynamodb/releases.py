"""What comes out in a month, by Query of an index.

The index is eventually consistent, as every global one is: a day that is put off may be told for a moment longer.
"""

from __future__ import annotations

from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import RELEASE_FIELDS, projection, release_of
from tools.store.backends.dynamodb.paging import pages
from tools.store.backends.dynamodb.probe import health_of
from tools.store.backends.dynamodb.tables import BY_MONTH, RELEASES
from tools.store.models import Health, Release
from tools.store.ports import MOST_RELEASES

_PAGE = 250
"""Items asked for at once: reading so many holds the event loop for about a millisecond."""


class DynamoReleases:
    """One item a volume that has a day."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = RELEASES.called(connection.address.prefix)

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        query: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": BY_MONTH.name,
            "KeyConditionExpression": "#month = :month",
            "ExpressionAttributeValues": {":month": {"S": month}},
            "Limit": _PAGE,
            **projection(RELEASE_FIELDS),
        }
        query["ExpressionAttributeNames"] = query["ExpressionAttributeNames"] | {"#month": "month"}
        async with answering("releases", deadline):
            found = [
                release_of(item) async for page in pages(self._connection, query, MOST_RELEASES, deadline) for item in page
            ]
        return tuple(sorted(found, key=lambda each: each.place))

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, RELEASES, deadline)
