"""Whether a table can be read, asked as serving asks it."""

from __future__ import annotations

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.attributes import Item
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.tables import Table
from tools.store.failures import BackendFailure
from tools.store.models import Health

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
