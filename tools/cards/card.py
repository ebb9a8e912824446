"""The cards that there are: which pages, and of which tools."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """`name` is that of its files and the end of its address; `tools` are those whose results it draws; `parts` are the
    names of what it shares with others, in the order in which its page takes them: a script each, and a style where there
    is one."""

    name: str
    title: str
    description: str
    tools: tuple[str, ...]
    parts: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        return f"ui://manga/{self.name}"


SHARED = ("common", "words", "parts")
DRAWN = ("tags", "motifs", "cover")

CARDS = (
    Card(
        "search",
        "Titles to choose from",
        "Search results and recommendations as cards: title, author, readership, price, stock, and why.",
        ("search_manga_catalog", "get_recommendations"),
        (*SHARED, *DRAWN, "phrases"),
    ),
    Card("title", "About a manga", "One title with its volumes.", ("get_manga_details",), (*SHARED, *DRAWN, "volumes")),
    Card(
        "stock",
        "In stock",
        "Which volumes of which titles there are.",
        ("check_inventory", "find_volumes"),
        (*SHARED, "volumes"),
    ),
    Card(
        "order",
        "Your order",
        "What has become of an order, and where its parcels are.",
        ("lookup_order",),
        (*SHARED, "parcels"),
    ),
    Card("preview", "A look inside", "The first pages of a volume.", ("preview_manga_pages",), (*SHARED, "tags")),
)
