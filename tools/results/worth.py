"""What of each answer is worth least to a customer: the one place where it is declared, a constant for each tool's result.

An answer that is longer than its reader can afford loses what stands here, in this order, until it fits
(`tools/results/shortening.py`): fields of all rows, then `rows[]` from the end. What a customer buys by is named nowhere and
stays with its row: ids, titles, prices, stock, and the state of an order.
"""

from __future__ import annotations

_CARD = (
    "synopsis", "tags", "start_year", "content_notes", "status", "volumes", "genre", "title_ja", "rating", "author",
    "audience",
)  # fmt: skip


def _of_rows(rows: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{rows}.{name}" for name in names)


SEARCH = (*_of_rows("results", _CARD), "understood", "nearly[]", "results[]", "relaxed[]")
RECOMMENDATIONS = (
    *_of_rows("recommendations", _CARD),
    "based_on", "understood", "recommendations.reason", "recommendations[]", "relaxed[]",
)  # fmt: skip
DETAILS = (
    "alt_titles", "chapters", "rating_count", "popularity_rank", "magazine", "end_year", "authors", "related[]", "related",
    "titles", "synopsis.ja", "synopsis", "tags", "start_year", "status", "volumes", "genre", "rating", "author",
    "content_notes", "offers", "audience",
)  # fmt: skip
INVENTORY = (
    "checked_query",
    *_of_rows("items", (
        "upcoming", "formats.campaign", "formats.list_price_jpy", "formats.stock_is", "volumes_total", "as_of",
        "volumes_in_stock", "formats", "restock", "missing_volumes",
    )),
    "items[]", "not_found[]", "unanswered[]",
)  # fmt: skip
PRICES = (
    "checked_query",
    *_of_rows("items", (
        "formats.campaign.name", "formats.saving.why", "formats.saving.against", "formats.fixed_price",
        "formats.volumes_in_stock", "as_of", "formats.campaign", "formats.list_price_jpy", "formats.saving", "complete",
        "cheapest",
    )),
    "items[]", "comparison", "not_found[]", "unanswered[]",
)  # fmt: skip
VOLUMES = ("volumes.isbn", "volumes.restock_date", "volumes[]", "in_stock")
GENRES = ("by", "readerships[]", "tags[]")
PREVIEW = ("content_notes", "pages.alt", "pages[]", "audience")
REMEMBERED = ("preferences[]", "obeyed[]")
FORGOTTEN = ("preferences[]", "removed[]")
ORDERS = (
    *_of_rows("shipments", ("events.status_ja", "status_ja", "events.place", "service", "events[]", "events")),
    *_of_rows("lines", ("isbn", "supply", "format", "unit_price_jpy", "tracking_number", "expected_date")),
    "shop_status_ja", "shop_note", "prefecture", "subtotal_jpy", "shipping_jpy", "orders.contents",
    "orders.estimated_delivery", "orders[]", "lines[]", "shipments[]", "return_until", "shop_status",
)  # fmt: skip
