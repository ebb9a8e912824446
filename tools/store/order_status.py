"""The status of an order, as a shopper would say it.

A shop's own status usually ends at "shipped" (発送済み), and what happens to a parcel afterwards only its carrier knows. So
the answer is made of both, and of the day it was promised for, by the calendar in Japan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from tools.store.models import Order, OrderLine, Shipment
from tools.store.models.values import day_in_japan

MEANINGS: Final[Mapping[str, str]] = {
    "received": "the shop has the order",
    "awaiting_payment": "nothing happens until it is paid",
    "preparing": "being packed",
    "preordered": "waits for a release",
    "backordered": "waits for a sold-out volume to come in",
    "in_transit": "with the carrier",
    "out_for_delivery": "should come today",
    "delivery_missed": "nobody was at home",
    "held": "waits to be fetched or sent again",
    "late": "should have come by now",
    "partly_delivered": "some parcels came, others not yet",
    "delivered": "all of it came",
    "ready_to_read": "digital only, in the library",
    "cancelled": "it will not come",
    "returned": "it was sent back",
}
"""Every known status; an unknown word of a shop is shown as it is."""

OVER = frozenset({"cancelled", "returned"})
ARRIVED = "delivered"
CARRIER_WORDS = {"out_for_delivery": "out_for_delivery", "absent": "delivery_missed", "held": "held"}
"""Statuses by the carrier's word; any other word is a parcel on its way."""
URGENT = ("held", "delivery_missed", "out_for_delivery", "in_transit")
"""The status of several parcels is the first of these: what the customer has to act on comes first."""
SHOP_WORDS = {"received": "received", "paid": "preparing", "in_preparation": "preparing", "shipped": "in_transit"}
WAITS = {"preorder": "preordered", "backorder": "backordered"}
SAID_AS_LATE = frozenset({"received", "preparing", "preordered", "backordered", "in_transit"})
"""Statuses of which "late" says more. A parcel that waits to be fetched is held, whatever was promised."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`late` is whether the promised day has passed and something has still not come."""

    status: str
    late: bool


def standing(order: Order, now: datetime) -> Standing:
    """`now` is any moment with a time zone; a promise holds until the end of its day in Japan."""
    status = _status(order, day_in_japan(now))
    open_still = status not in OVER and status not in (ARRIVED, "ready_to_read", "awaiting_payment")
    promised = order.estimated_delivery
    late = open_still and promised is not None and date.fromisoformat(promised) < day_in_japan(now)
    return Standing("late" if late and status in SAID_AS_LATE else status, late)


def _status(order: Order, today: date) -> str:
    if order.status in OVER:
        return order.status
    if order.status == "payment_pending":
        return "awaiting_payment"
    printed = [line for line in order.lines if line.supply != "download" and line.format != "digital"]
    if not printed:
        return _digital(order, today)
    if order.shipments:
        return _under_way(order.shipments, printed)
    waiting = _waiting_for(printed) if order.status != "shipped" else None
    return waiting or SHOP_WORDS.get(order.status, order.status)


def _digital(order: Order, today: date) -> str:
    """The status of digital lines: delivered when bought, unless they are not out yet."""
    if any(line.expected_date is not None and date.fromisoformat(line.expected_date) > today for line in order.lines):
        return "preordered"
    return "received" if order.status == "received" else "ready_to_read"


def _waiting_for(lines: Collection[OrderLine]) -> str | None:
    """All leave together, when the last is there: what one line waits for, all wait for."""
    waits = {WAITS[line.supply] for line in lines if line.supply in WAITS}
    return "preordered" if "preordered" in waits else next(iter(waits), None)


def _under_way(shipments: Sequence[Shipment], printed: Collection[OrderLine]) -> str:
    arrived = [each for each in shipments if each.status == ARRIVED or each.delivered_at is not None]
    named = any(line.tracking_number for line in printed)
    to_be_sent = named and any(line.tracking_number is None for line in printed)
    if len(arrived) == len(shipments) and not to_be_sent:
        return "delivered"
    if arrived:
        return "partly_delivered"
    return min((CARRIER_WORDS.get(each.status, "in_transit") for each in shipments), key=URGENT.index)
