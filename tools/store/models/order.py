"""An order, its lines and its parcels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from tools.store.models.values import MOST, Count, Day, Moment, OrderId, Text, Yen

STATUSES = ("received", "payment_pending", "paid", "in_preparation", "shipped", "cancelled", "returned")
"""The shop's states of an order."""
CARRIERS = ("yamato", "sagawa", "japan_post")
NOT_BOUGHT = frozenset({"cancelled", "returned"})
"""Order states after which the goods are not the customer's."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """A line of an order. `supply` is stock, preorder, backorder or download; `expected_date` (YYYY-MM-DD) is when a waiting
    line should come in; `tracking_number` names the shipment that carries it."""

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
    """A parcel. `carrier` is yamato, sagawa or japan_post; `status` is the carrier's word, which outlives the shop's,
    `status_ja` the same word on the carrier's tracking page."""

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
    """An order as its owner may see it: never street, phone, e-mail or payment data.

    `status` is received, payment_pending, paid, in_preparation, shipped, cancelled or returned, and `status_ja` its Japanese
    label; what became of a parcel is in its shipment.
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


MOST_PAGES = 3
MOST_PAGE_BYTES = 256 * 1024
MOST_PREVIEW_BYTES = 600 * 1024
"""Most bytes of a preview: 800 KiB in base64, the largest message that clients over a network accept."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a preview. `data` is a whole image of `media_type`: image/webp, image/png or image/jpeg. `alt` describes it,
    if the store knows."""

    number: int
    media_type: str
    data: bytes = field(repr=False)
    alt: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The `pages` of a preview, in order; `left_out` are the numbers of pages that exist and cannot be shown."""

    pages: tuple[Page, ...]
    left_out: tuple[int, ...] = ()


TOPICS = ("shipping", "returns", "payment", "languages")
"""The usual topics; a shop may add others, and leave some out."""
LANGUAGES = ("en", "ja")


@dataclass(slots=True)
class Policies:
    """A shop's policies. `texts`: Markdown by topic and language; `shop`: its name. A changed file replaces the texts."""

    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    shop: str = "MangaAssist"

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in the order of the texts."""
        return tuple(dict.fromkeys(topic for topic, _ in self.texts))

    def take_texts(self, other: Policies) -> str | None:
        """Replaces the texts by those of `other`. Returns the change as a sentence; None if nothing has changed."""
        if other.texts == self.texts:
            return None
        self.texts = other.texts
        return f"the shop's policies have changed; their topics are {', '.join(self.topics)}"

    def languages(self, topic: str) -> tuple[str, ...]:
        """Returns the languages that have a text on the topic."""
        return tuple(language for language in LANGUAGES if (topic, language) in self.texts)

    def text(self, topic: str, language: str) -> str:
        """Returns the shop's text on a topic in one of the `LANGUAGES`; "" if there is none."""
        return self.texts.get((topic, language), "")


@dataclass(frozen=True, slots=True)
class Health:
    """A backend's state. `detail` is safe to show to anyone; `logged`: the backend logs its own problems, so that nobody
    else has to."""

    ok: bool
    detail: str = ""
    logged: bool = False


@dataclass(frozen=True, slots=True)
class Classification:
    """Labels with confidences from 0 to 1, highest first. `by`: the classifier, "local" or "bedrock". `degraded`: inputs
    that were missing ("vector"); `words_alone`: the text was not compared with any title."""

    readerships: Mapping[str, float]
    tags: Mapping[str, float]
    by: str
    degraded: tuple[str, ...] = ()
    words_alone: bool = False
