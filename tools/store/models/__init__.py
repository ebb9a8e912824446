"""The store's nouns, as immutable values. Money is whole yen with tax; ratings are 0 to 5; times are ISO 8601 in UTC.

Each has its one definition here. What a file, an item of a table and a cached value look like follows from the types and
limits of its fields (`tools.store.records.shape`); the tools' output schemas are checked against them.
"""

from tools.store.models.catalog import CatalogPage, CatalogQuery, Facets, Filters, Ordering
from tools.store.models.health import Health
from tools.store.models.offer import DIGITAL, PAPER, Offer
from tools.store.models.order import Order, OrderLine, Shipment, TrackingEvent
from tools.store.models.title import Author, Title
from tools.store.models.volume import Availability, AvailabilityPage, VolumeStock

__all__ = [
    "DIGITAL",
    "PAPER",
    "Author",
    "Availability",
    "AvailabilityPage",
    "CatalogPage",
    "CatalogQuery",
    "Facets",
    "Filters",
    "Health",
    "Offer",
    "Order",
    "OrderLine",
    "Ordering",
    "Shipment",
    "Title",
    "TrackingEvent",
    "VolumeStock",
]
