"""An order as JSON: the fields of `Order`, and its owner beside them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from tools.store.models import Order
from tools.store.records.shape import ShapeError, decode


def read_order(record: dict[str, Any], *, unknown: Literal["forbid", "ignore"] = "forbid") -> Order:
    """An order that somebody wrote; of one that a backend keeps, unknown fields are ignored. Raises ShapeError, also when
    the amounts do not add up."""
    order = decode(Order, record, unknown=unknown)
    subtotal = sum(line.quantity * line.unit_price_jpy for line in order.lines)
    if order.subtotal_jpy != subtotal:
        raise ShapeError(f"$.subtotal_jpy must be {subtotal}, the sum of the lines")
    if order.total_jpy != subtotal + order.shipping_jpy:
        raise ShapeError("$.total_jpy must be subtotal and shipping")
    return order


def check_order(order: Order) -> None:
    """Raises ShapeError for one that could not be read."""
    read_order(asdict(order))
