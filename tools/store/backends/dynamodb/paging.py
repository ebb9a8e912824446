"""Query, page by page, up to a bound."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.attributes import Item
from tools.store.backends.dynamodb.connection import Connection
from tools.store.records.shape import ShapeError


async def pages(
    connection: Connection, query: dict[str, Any], most: int, deadline: Deadline | None = None
) -> AsyncIterator[list[Item]]:
    """The items of a Query, at most `most` of them. A page ends at 1 MB, so there can be several."""
    seen = 0
    after: dict[str, Any] = {}
    while True:
        answer = await connection.call("query", deadline, **query, **after)
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
