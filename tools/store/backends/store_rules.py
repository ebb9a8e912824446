"""What a volume and an order must satisfy beyond their shape, whatever store or file they come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

from tools.store.backends.decode import ShapeError
from tools.store.identifiers import ORDER_ID
from tools.store.models import DIGITAL, Offer, Order, OrderLine, VolumeStock

_ORDER_ID = re.compile(ORDER_ID)

MOST = 10**9
"""Yen, copies and volumes: no number of a shop is larger, and no database counts without an end."""

NOT_BOUGHT = frozenset({"cancelled", "returned"})
"""Order states after which the goods are not the customer's."""


def least_price(format_: str) -> int:
    """A free first volume is how a digital series begins; nobody gives paper away, so that 0 yen is a mistake there."""
    return 0 if format_ == DIGITAL else 1


def price_problem(format_: str, price_jpy: int) -> str | None:
    """Why something cannot cost so much; None when it can."""
    least = least_price(format_)
    return None if price_jpy >= least else f"must be at least {least} ({format_})"


def offer_of(format_: str, volumes: Sequence[VolumeStock]) -> Offer:
    """What is sold in a format that is counted by volumes: all copies, at the lowest price that is paid for one. 0 yen only
    where every volume is free: a first one that is says nothing of the others."""
    prices = [volume.price_jpy for volume in volumes]
    return Offer(format_, min(filter(None, prices), default=0), sum(volume.stock for volume in volumes))


def check_volume(volume: VolumeStock) -> None:
    """Raises ShapeError unless numbers are in range, dates are dates and the ISBN is one."""
    _demand(volume.volume >= 0, "$.volume must not be negative")
    for name in ("volume", "price_jpy", "stock"):
        _demand(getattr(volume, name) <= MOST, f"$.{name} must not be above {MOST}")
    problem = price_problem(volume.format, volume.price_jpy)
    _demand(problem is None, f"$.price_jpy {problem}")
    _demand(volume.stock >= 0, "$.stock must not be negative")
    _demand(bool(volume.format), "$.format must not be empty")
    _demand(volume.isbn is None or is_isbn13(volume.isbn), "$.isbn must be 13 digits with a right check digit")
    _check_date(volume.restock_date, "$.restock_date")
    _check_date(volume.release_date, "$.release_date")


def check_order(order: Order) -> None:
    """Raises ShapeError unless the amounts add up and every date and time is one."""
    _demand(bool(_ORDER_ID.fullmatch(order.order_id)), "$.order_id must be MNG- and 8 of A-Z 0-9, as lookup_order takes it")
    _demand(bool(order.lines), "$.lines must not be empty")
    for index, line in enumerate(order.lines):
        _check_line(line, f"$.lines[{index}]")
    subtotal = sum(line.quantity * line.unit_price_jpy for line in order.lines)
    _demand(order.subtotal_jpy == subtotal, f"$.subtotal_jpy must be {subtotal}, the sum of the lines")
    _demand(order.shipping_jpy >= 0, "$.shipping_jpy must not be negative")
    _demand(order.total_jpy == subtotal + order.shipping_jpy, "$.total_jpy must be subtotal and shipping")
    _check_time(order.ordered_at, "$.ordered_at")
    _check_date(order.estimated_delivery, "$.estimated_delivery")
    _check_date(order.return_until, "$.return_until")
    _check_shipments(order)


def is_isbn13(text: str) -> bool:
    """Thirteen digits whose sum weighted 1, 3, 1, 3, … is a multiple of 10 (ISO 2108)."""
    if not re.fullmatch(r"97[89][0-9]{10}", text):
        return False
    return sum(int(digit) * (3 if i % 2 else 1) for i, digit in enumerate(text)) % 10 == 0


def _check_line(line: OrderLine, path: str) -> None:
    _demand(line.quantity >= 1, f"{path}.quantity must be at least 1")
    _demand(line.unit_price_jpy >= 0, f"{path}.unit_price_jpy must not be negative")
    _demand(max(line.quantity, line.unit_price_jpy) <= MOST, f"{path} has a number above {MOST}")
    _check_date(line.expected_date, f"{path}.expected_date")


def _check_shipments(order: Order) -> None:
    for index, shipment in enumerate(order.shipments):
        path = f"$.shipments[{index}]"
        _check_time(shipment.shipped_at, f"{path}.shipped_at")
        _check_time(shipment.delivered_at, f"{path}.delivered_at")
        for number, event in enumerate(shipment.events):
            _check_time(event.at, f"{path}.events[{number}].at")


def _check_date(text: str | None, path: str) -> None:
    """Dates are compared as text further up, so only the one spelling is let in."""
    if text is None:
        return
    try:
        fits = date.fromisoformat(text).isoformat() == text
    except ValueError:
        fits = False
    _demand(fits, f"{path} must be a date, YYYY-MM-DD")


def _check_time(text: str | None, path: str) -> None:
    """Times sort as text only when they share one offset, so UTC is written `Z` and nothing else."""
    if text is None:
        return
    try:
        fits = text.endswith("Z") and datetime.fromisoformat(text).utcoffset() is not None
    except ValueError:
        fits = False
    _demand(fits, f"{path} must be an ISO 8601 time in UTC that ends in Z")


def _demand(condition: bool, problem: str) -> None:
    if not condition:
        raise ShapeError(problem)
