"""The store's nouns, as immutable values. Money is whole yen with tax; ratings are 0 to 5; times are ISO 8601 in UTC.

Each has its one definition here. What a file, an item of a table and a cached value look like follows from the types and
limits of its fields (`tools.store.records.shape`); the tools' output schemas are checked against them.
"""

from tools.store.models.catalog import (
    ANY,
    Audience,
    Author,
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Neighbour,
    Ordering,
    Range,
    ReaderQuery,
    Status,
    Title,
    Weighed,
)
from tools.store.models.offer import (
    DIGITAL,
    PAPER,
    SET,
    USED_SET,
    WHOLE,
    Availability,
    AvailabilityPage,
    Campaign,
    Offer,
    Release,
    VolumeStock,
)
from tools.store.models.order import Classification, Health, Order, OrderLine, Page, Preview, Shipment, TrackingEvent

__all__ = [
    "ANY",
    "Audience",
    "Author",
    "Availability",
    "AvailabilityPage",
    "Called",
    "Campaign",
    "CatalogPage",
    "CatalogQuery",
    "CatalogTerms",
    "Classification",
    "Conditions",
    "DIGITAL",
    "Health",
    "Neighbour",
    "Offer",
    "Order",
    "OrderLine",
    "Ordering",
    "PAPER",
    "Page",
    "Preview",
    "Range",
    "ReaderQuery",
    "Release",
    "SET",
    "Shipment",
    "Status",
    "Title",
    "TrackingEvent",
    "USED_SET",
    "VolumeStock",
    "WHOLE",
    "Weighed",
]
