from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from tools.store.models.values import MOST, Count, Day, Moment, OrderId, Text, Yen

STATUSES = ("received", "payment_pending", "paid", "in_preparation", "shipped", "cancelled", "returned")
CARRIERS = ("yamato", "sagawa", "japan_post")
NOT_BOUGHT = frozenset({"cancelled", "returned"})
"""Order states after which the goods are not the customer's."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """A line of an order; `volume` is None for a set. `supply` is stock, preorder, backorder or download. `expected_date`
    (YYYY-MM-DD) is the day on which a waiting line should arrive. `tracking_number` names the line's shipment; None if there
    is no shipment."""

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
    """A carrier's scan of a parcel; `place` is None if unknown. `status_ja`: the status in the words of the carrier's
    tracking page."""

    status: str
    at: Moment
    place: str | None
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Shipment:
    """A parcel. `carrier` is yamato, sagawa or japan_post. `status` is the carrier's status, `status_ja` the same in the
    words of the carrier's tracking page. A time of None has not come, or is unknown."""

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
    """An order as its owner may see it, without street, phone, e-mail and payment data. `status` is received,
    payment_pending, paid, in_preparation, shipped, cancelled or returned; `status_ja` is its Japanese label. The progress of
    parcels is in `shipments`. `estimated_delivery` is the promised day, `return_until` the last day for a return."""

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


MOST_PAGES = 3
MOST_PAGE_BYTES = 256 * 1024
MOST_PREVIEW_BYTES = 600 * 1024
"""Most bytes of a preview: 800 KiB in base64, the largest message that clients over a network accept."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a preview. `data` is a complete image of `media_type`: image/webp, image/png or image/jpeg. `alt` is its
    alternative text, None if unknown."""

    number: int
    media_type: str
    data: bytes = field(repr=False)
    alt: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The pages of a preview, in order. `left_out` are the numbers of pages that exist but cannot be shown."""

    pages: tuple[Page, ...]
    left_out: tuple[int, ...] = ()


TOPICS = ("shipping", "returns", "payment", "languages")
"""The usual topics; a shop may add others, and leave some out."""
LANGUAGES = ("en", "ja")


@dataclass(slots=True)
class Policies:
    """A shop's policies. `texts` has Markdown by (topic, language), with languages of `LANGUAGES`; `shop` is the shop's
    name."""

    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    shop: str = "MangaAssist"

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(topic for topic, _ in self.texts))

    def take_texts(self, other: Policies) -> str | None:
        """Replaces the texts by those of `other`. Returns a sentence about the change; None if nothing has changed."""
        if other.texts == self.texts:
            return None
        self.texts = other.texts
        return f"the shop's policies have changed; their topics are {', '.join(self.topics)}"

    def languages(self, topic: str) -> tuple[str, ...]:
        return tuple(language for language in LANGUAGES if (topic, language) in self.texts)

    def text(self, topic: str, language: str) -> str:
        """Returns the text on a topic in one of `LANGUAGES`; "" if there is none."""
        return self.texts.get((topic, language), "")


@dataclass(frozen=True, slots=True)
class Health:
    """A backend's state. `detail` is safe to show to anyone. `logged` is True if the backend logs its own problems, so that
    callers need not."""

    ok: bool
    detail: str = ""
    logged: bool = False


@dataclass(frozen=True, slots=True)
class Classification:
    """Labels of a text with confidences from 0 to 1, highest first. `by` is the classifier, "local" or "bedrock". `degraded`
    names missing inputs ("vector", "catalog"). `words_alone` is True if the text was not compared with any title."""

    readerships: Mapping[str, float]
    tags: Mapping[str, float]
    by: str
    degraded: tuple[str, ...] = ()
    words_alone: bool = False
