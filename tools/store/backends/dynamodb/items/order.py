"""An order, by its owner, and what was bought with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from tools.store.backends.dynamodb.attributes import Item, attribute, plain, text
from tools.store.backends.dynamodb.items.keys import owner_key
from tools.store.models import Order, OrderLine
from tools.store.models.order import NOT_BOUGHT
from tools.store.records.order import check_order, read_order
from tools.store.records.shape import ShapeError, decode

ORDER_FIELDS = ("owner", *(field.name for field in fields(Order)))
PURCHASE_FIELDS = ("owner", "ordered_at", "status", "title_ids")
LINE_FIELDS = ("owner", "status", "title_ids", "lines")


def order_item(owner: str, order: Order) -> Item:
    """An owner's order. Raises ValueError for one that could not be read again."""
    check_order(order)
    title_ids = list(dict.fromkeys(line.title_id for line in order.lines))
    record = {"owner": owner_key(owner), "title_ids": title_ids, **asdict(order)}
    return {name: attribute(value) for name, value in record.items()}


def order_of(item: Mapping[str, Any], owner: str, order_id: str) -> Order:
    """The order an item holds. Raises ShapeError, also for one that is not the one asked for."""
    record = {name: plain(value, f"$.{name}") for name, value in item.items() if name in ORDER_FIELDS}
    if record.pop("owner", None) != owner_key(owner) or record.get("order_id") != order_id:
        raise ShapeError("$ is another order than the one asked for")
    return read_order(record, unknown="ignore")


def lines_bought(item: Mapping[str, Any], owner: str, title_id: str) -> list[OrderLine]:
    """Lines of an order that brought the owner a title. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's order")
    if text(item, "status", "$") in NOT_BOUGHT:
        return []
    lines = decode(tuple[OrderLine, ...], plain(item.get("lines"), "$.lines"), "$.lines", unknown="ignore")
    return [line for line in lines if line.title_id == title_id]


def purchase_of(item: Mapping[str, Any], owner: str) -> tuple[str, str, list[str]]:
    """Status, time and titles of an order. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's order")
    title_ids = plain(item.get("title_ids"), "$.title_ids")
    if not isinstance(title_ids, list) or not all(isinstance(each, str) for each in title_ids):
        raise ShapeError("$.title_ids must be a list of text")
    return text(item, "status", "$"), text(item, "ordered_at", "$"), title_ids
