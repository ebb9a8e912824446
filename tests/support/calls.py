"""One call of each tool, what it asks, and what it falls back to."""

from __future__ import annotations

from typing import Any

from tests.support.pipeline import Kit
from tests.support.store import Mood
from tests.support.valkey import ask

QUERY = {"query": "pirates"}
TITLE = {"title_id": "manga-000001"}
IDS = {"title_ids": ["manga-000001", "manga-000002"]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_manga_catalog": QUERY,
    "get_manga_details": TITLE,
    "check_inventory": IDS,
    "get_recommendations": {"criteria": "romance"},
    "preview_manga_pages": TITLE,
    "classify_genre": {"text": "a shonen manga about pirates"},
    "lookup_order": {"order_id": "MNG-UUUU0001"},
}
MAIN_PORTS = {
    "search_manga_catalog": ["catalog"],
    "get_manga_details": ["catalog", "titles"],  # either is enough
    "check_inventory": ["stock"],
    "get_recommendations": ["catalog"],
    "preview_manga_pages": ["catalog", "titles"],  # the pages are beside it
    "classify_genre": ["catalog"],
    "lookup_order": ["orders"],
}
FALLBACKS = {
    "search_manga_catalog": "cached_popular_manga",
    "get_manga_details": "last_known_details",
    "check_inventory": "cached_inventory_snapshot",
    "get_recommendations": "cached_trending_manga",
    "preview_manga_pages": "preview_of_known_title",
    "classify_genre": "local_classifier",
}
CACHED = ["search_manga_catalog", "get_manga_details", "get_recommendations", "preview_manga_pages", "classify_genre"]
CODES = {
    Mood.FAILS: "DEPENDENCY_FAILURE",
    Mood.THROTTLES: "DEPENDENCY_FAILURE",
    Mood.DROPS: "DEPENDENCY_FAILURE",
    Mood.HANGS: "TIMEOUT",
}


async def age(kit: Kit, seconds: float) -> None:
    """Makes every cached result older."""
    for name in await ask(kit.redis, "KEYS", "manga:mcp:cache:*"):
        made_at, _, text = (await ask(kit.redis, "GET", name)).partition(b" ")
        await ask(kit.redis, "SET", name, b"%d %s" % (int(made_at) - int(seconds * 1000), text), "KEEPTTL")


async def caller_errors(kit: Kit) -> list[str | None]:
    asked = [
        await kit.ask("search_manga_catalog", {"max_results": 99}),
        await kit.ask("get_manga_details", {"title_id": "manga-999999"}),
        await kit.ask("check_inventory", {}, session="empty"),
        await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}, user="u"),
        await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}),
        await kit.ask("search_manga_catalog", QUERY, session="bad session"),
        await kit.ask("search_manga_catalog", QUERY, user="u", user_conflict=True),
        await kit.ask("search_manga_catalog", QUERY, turn_budget_ms="soon"),
        await kit.ask("search_manga_catalog", QUERY, expected_calls=0),
    ]
    return [answer.failure for answer in asked]
