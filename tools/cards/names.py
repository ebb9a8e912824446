"""The names of a result's titles in Japanese, where it says only one: for a card in that language, and for no model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tools.primitives.extension import Json
from tools.schema.text import visible
from tools.store.store import Store

KEY = "com.mangaassist/card"
MOST_TITLES = 60
LONGEST = 120
TOOLS = ("check_inventory", "find_volumes", "lookup_order", "preview_manga_pages")
"""Those of a card's tools that call a title by one name alone."""
PLACES = ("items", "lines", "volumes")
"""Where a result has rows of titles."""


def native_names(store: Store, tool: str, result: Json) -> Json:
    """`{KEY: {"names": {title id: its name in Japanese}}}`, as far as this process knows them; nothing where it knows
    none."""
    ids = list(dict.fromkeys(_ids(result)))[:MOST_TITLES] if tool in TOOLS else []
    popular = {each: title.ja for each in ids if (title := store.popular.known(each)) is not None and title.ja}
    names = {each: visible(name)[:LONGEST] for each, name in {**popular, **store.names.native(ids)}.items()}
    return {KEY: {"names": names}} if names else {}


def _ids(result: Json) -> Iterator[str]:
    lists = [rows for place in PLACES if isinstance(rows := result.get(place), list)]
    for row in (result, *chain.from_iterable(lists)):
        if isinstance(row, dict) and isinstance(title_id := row.get("title_id"), str):
            yield title_id
