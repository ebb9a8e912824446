"""An order, its lines and its parcels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tools.store.models.values import MOST, Count, Day, Moment, OrderId, Text, Yen

STATUSES = ("received", "payment_pending", "paid", "in_preparation", "shipped", "cancelled", "returned")
"""The shop's own words for the state of an order."""
CARRIERS = ("yamato", "sagawa", "japan_post")
NOT_BOUGHT = frozenset({"cancelled", "returned"})
"""Order states after which the goods are not the customer's."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """`supply` is stock, preorder, backorder or download; `expected_date` (YYYY-MM-DD) is when a line that waits should
    come in; `tracking_number` names the shipment that carries it."""

    title_id: Text
    title: str
    volume: Count | None
    isbn: str | None
    format: str
    quantity: Annotated[int, Field(ge=1, le=MOST)]
    unit_price_jpy: Yen
    supply: str | None = None
    expected_date: Day | None = None
    tracking_number: str | None = None


@dataclass(frozen=True, slots=True)
class TrackingEvent:
    """A scan by the carrier; `status_ja` is the word as its own tracking page shows it."""

    status: str
    at: Moment
    place: str | None
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Shipment:
    """`carrier` is one of `CARRIERS`; `status` is the carrier's word, which outlives the shop's.

    `status_ja` is the same word as the carrier's tracking page shows it.
    """

    carrier: str
    service: str
    tracking_number: str
    status: str
    shipped_at: Moment | None
    delivered_at: Moment | None
    events: tuple[TrackingEvent, ...] = ()
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What its owner may see of an order: never street, phone, e-mail or payment data.

    `status` is one of `STATUSES` and `status_ja` its Japanese label; what became of a parcel is in its shipment.
    """

    order_id: OrderId
    status: Text
    ordered_at: Moment
    lines: Annotated[tuple[OrderLine, ...], Field(min_length=1)]
    subtotal_jpy: Yen
    shipping_jpy: Yen
    total_jpy: Yen
    prefecture: str
    shipments: tuple[Shipment, ...] = ()
    estimated_delivery: Day | None = None
    note: str | None = None
    return_until: Day | None = None
    status_ja: str | None = None
