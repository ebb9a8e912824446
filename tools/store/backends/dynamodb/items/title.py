"""The store's own record of a title."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.store.backends.dynamodb.attributes import Item, attribute, text
from tools.store.models import Title
from tools.store.records.shape import ShapeError
from tools.store.records.title import record_of, stored_title

TITLE_FIELDS = ("title_id", "record")


def title_item(title: Title) -> Item:
    """What a title is. As text: a record is only ever read whole, and its ratings are no whole numbers."""
    record = json.dumps(record_of(title), ensure_ascii=False, separators=(",", ":"))
    return {"title_id": attribute(title.title_id), "record": attribute(record)}


def title_of(item: Mapping[str, Any], title_id: str) -> Title:
    """The title an item holds. Raises ShapeError, also for one that is not the one asked for."""
    try:
        title = stored_title(text(item, "record", "$"))
    except ShapeError as error:
        raise ShapeError(f"$.record is none: {error}") from error
    if title.title_id != title_id:
        raise ShapeError("$.record is another title's than the one asked for")
    return title
