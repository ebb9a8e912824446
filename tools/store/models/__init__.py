"""The store's nouns, as immutable values. Money is whole yen with tax; ratings are 0 to 5; times are ISO 8601 in UTC.

Each has its one definition here. What a file, an item of a table and a cached value look like follows from the types and
limits of its fields (`tools.store.records.shape`); the tools' output schemas are checked against them.
"""

from tools.store.models.campaign import Campaign
from tools.store.models.catalog import (
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Facets,
    Neighbour,
    Ordering,
    ReaderQuery,
    Weighed,
)
from tools.store.models.classification import Classification
from tools.store.models.conditions import ANY, Audience, Conditions, Range, Status
from tools.store.models.health import Health
from tools.store.models.offer import DIGITAL, PAPER, SET, USED_SET, WHOLE, Offer
from tools.store.models.order import Order, OrderLine, Shipment, TrackingEvent
from tools.store.models.page import Page, Preview
from tools.store.models.release import Release
from tools.store.models.title import Author, Title
from tools.store.models.volume import Availability, AvailabilityPage, VolumeStock

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
    "Facets",
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
