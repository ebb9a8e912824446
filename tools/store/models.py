"""The store's nouns, as immutable values. Money is whole yen with tax; ratings are 0 to 5; times are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

PAPER, DIGITAL = "physical", "digital"
"""The two formats that the tools know apart from others."""


@dataclass(frozen=True, slots=True)
class Author:
    """`name` is "Family, Given" in Latin letters."""

    name: str
    name_ja: str | None = None
    name_kana: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """What the catalogue says of a title: text and facts, no price and no stock (those change by the minute)."""

    title_id: str
    en: str | None = None
    romaji: str | None = None
    ja: str | None = None
    kana: str | None = None
    alt_titles: tuple[str, ...] = ()
    authors: tuple[Author, ...] = ()
    genre: str | None = None
    tags: tuple[str, ...] = ()
    synopsis_en: str | None = None
    synopsis_ja: str | None = None
    rating: float | None = None
    rating_count: int | None = None
    popularity_rank: int | None = None
    volumes: int | None = None
    chapters: int | None = None
    status: str | None = None
    start_year: int | None = None
    end_year: int | None = None
    magazine: str | None = None
    related: tuple[str, ...] = ()

    @property
    def display(self) -> str:
        """The name to show: English where there is one, else romaji, Japanese, kana."""
        return self.en or self.romaji or self.ja or self.kana or self.title_id


@dataclass(frozen=True, slots=True)
class Filters:
    """What a title must satisfy, exactly. `author` is matched in any order and script of the name's parts."""

    genre: str | None = None
    author: str | None = None
    min_rating: float | None = None


class Ordering(StrEnum):
    """What matches are put in order by, where not by how well they match."""

    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    text: str
    filters: Filters
    limit: int


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """Hits, best first. `total` counts all that match; `degraded` names a leg that was late or down ("vector").

    `guessed`: the best hit is there only for a name that is somewhat like the query. `near`: where nothing matches, titles
    whose names come nearest.
    """

    titles: tuple[Title, ...]
    total: int
    degraded: tuple[str, ...] = ()
    guessed: bool = False
    near: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class Facets:
    """What a reader likes: weights by tag, and authors by `Author.name`."""

    tags: Mapping[str, float]
    authors: tuple[str, ...] = ()
    genre: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to buy a title. `stock` is None where copies do not run out (digital)."""

    format: str
    price_jpy: int
    stock: int | None


@dataclass(frozen=True, slots=True)
class VolumeStock:
    """The unit that is sold: a volume with its ISBN-13 (None for digital).

    `release_date` is set while the volume can only be pre-ordered. Dates are YYYY-MM-DD.
    """

    volume: int
    isbn: str | None
    format: str
    price_jpy: int
    stock: int
    restock_date: str | None = None
    release_date: str | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """Stock and price of one title at `as_of`. `volumes` is empty where the store counts by title only."""

    title_id: str
    offers: tuple[Offer, ...]
    volumes: tuple[VolumeStock, ...]
    as_of: str


@dataclass(frozen=True, slots=True)
class AvailabilityPage:
    """`unanswered` are ids the backend did not get to in time; ids in neither are not sold here."""

    rows: Mapping[str, Availability]
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OrderLine:
    """`supply` is stock, preorder, backorder or download; `expected_date` (YYYY-MM-DD) is when a line that waits should
    come in; `tracking_number` names the shipment that carries it."""

    title_id: str
    title: str
    volume: int | None
    isbn: str | None
    format: str
    quantity: int
    unit_price_jpy: int
    supply: str | None = None
    expected_date: str | None = None
    tracking_number: str | None = None


@dataclass(frozen=True, slots=True)
class TrackingEvent:
    """A scan by the carrier; `status_ja` is the word as its own tracking page shows it."""

    status: str
    at: str
    place: str | None
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Shipment:
    """`carrier` is yamato, sagawa or japan_post; `status` is the carrier's word, which outlives the shop's.

    `status_ja` is the same word as the carrier's tracking page shows it.
    """

    carrier: str
    service: str
    tracking_number: str
    status: str
    shipped_at: str | None
    delivered_at: str | None
    events: tuple[TrackingEvent, ...] = ()
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What its owner may see of an order: never street, phone, e-mail or payment data.

    `status` is the shop's own word (received, payment_pending, paid, in_preparation, shipped, cancelled, returned) and
    `status_ja` its Japanese label; what became of a parcel is in its shipment.
    """

    order_id: str
    status: str
    ordered_at: str
    lines: tuple[OrderLine, ...]
    subtotal_jpy: int
    shipping_jpy: int
    total_jpy: int
    prefecture: str
    shipments: tuple[Shipment, ...] = ()
    estimated_delivery: str | None = None
    note: str | None = None
    return_until: str | None = None
    status_ja: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What a backend says of itself: `detail` is safe to show to anyone."""

    ok: bool
    detail: str = ""
