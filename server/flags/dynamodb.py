"""Reads the flags document from a DynamoDB item: JSON text in the attribute `document`, with the partition key `name`."""

from __future__ import annotations

from server.config.parsing import FlagsItem
from server.config.sources import Unreadable
from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import answering
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.tables import Table
from tools.store.failures import BackendFailure

TABLE = Table("flags", "name")
DOCUMENT = "document"
SECONDS = 2.0


class DynamoSource:
    """Reads the item with consistent reads, so that every replica sees a change at its next read."""

    def __init__(self, item: FlagsItem) -> None:
        self._connection = Connection(item.address)
        self._item = item
        self.aclose = self._connection.aclose

    async def read(self) -> bytes:
        key = {TABLE.partition_key: {"S": self._item.key}}
        try:
            async with answering("flags", Deadline.after(SECONDS)):
                answer = await self._connection.call("get_item", TableName=self._item.table, Key=key, ConsistentRead=True)
        except BackendFailure as failure:
            raise Unreadable(failure.message.rstrip(".")) from failure
        return _text_of(answer.get("Item"))


def _text_of(item: object) -> bytes:
    if item is None:
        raise Unreadable("the table has no such item")
    attribute = item.get(DOCUMENT) if isinstance(item, dict) else None
    text = attribute.get("S") if isinstance(attribute, dict) else None
    if not isinstance(text, str):
        raise Unreadable(f"the item has no attribute {DOCUMENT} that is a text")
    return text.encode("utf-8", "surrogatepass")
