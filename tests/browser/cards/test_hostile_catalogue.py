"""Whatever a catalogue says stays text in its place: nothing of it runs, asks somebody, or moves what stands around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser.given import drawn
from tests.support.browser.origins import Origins
from tests.support.browser.results import BERSERK, HOSTILE, ORDER, PARCEL, STOCK, Json, answered, pages

if TYPE_CHECKING:
    from playwright.async_api import Browser

TOOLS = (
    "search_manga_catalog",
    "get_manga_details",
    "check_inventory",
    "find_volumes",
    "lookup_order",
    "preview_manga_pages",
)
LIMIT, SYNOPSIS = 401, 6001
"""Letters: more than any one text of the catalogue is shown with, and than a synopsis."""
TURNING = frozenset("\u202e\u202d\u2066\u200f")
JUNK: tuple[Any, ...] = (
    1e300,
    -7,
    0.1,
    True,
    [],
    {},
    [None, 5, {"title": ["x"]}],
    "9" * 400,
    {"toString": 1},
    "constructor",
    None,
)
SEEN = """() => ({
    made: [...document.querySelectorAll('body script, iframe, object, embed, link, base, form, a[href], [onerror], img')]
        .map((each) => each.outerHTML.slice(0, 80)).filter((each) => !/^<script>|^<img src="data:image\\/png;base64,/.test(each)),
    wider: Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth),
    taken: document.title === 'taken',
    told: document.querySelector('main').textContent})"""


def everywhere(text: str) -> dict[str, Json]:
    """A result of each tool that says this wherever a catalogue, a shop or a carrier says something in words."""
    title = BERSERK | dict.fromkeys(("title", "title_ja", "author", "genre", "status", "audience", "reason"), text)
    title |= {"title_id": text, "tags": [text, text], "content_notes": [text]}
    offer = {"format": text, "price_jpy": 1, "list_price_jpy": 2, "campaign": {"until": "2026-12-01", "name": text}}
    item = STOCK | {
        "title": text,
        "title_id": text,
        "availability": text,
        "formats": [offer],
        "restock": [{"volumes": text}],
    }
    scan = {"status": text, "at": text, "place": text, "status_ja": text}
    parcel = PARCEL | {"carrier": text, "tracking_number": text, "status": text, "events": [scan, *PARCEL["events"]]}
    line = {"title": text, "title_id": text, "format": text, "volume": 1, "quantity": 1, "unit_price_jpy": 1}
    order = ORDER | {"order_id": text, "status": text, "prefecture": text, "shipments": [parcel], "lines": [line]}
    details = title | {
        "titles": dict.fromkeys(("en", "romaji", "ja", "kana"), text),
        "authors": [{"name": text, "name_ja": text, "role": text}],
        "synopsis": {"en": text, "ja": text},
        "magazine": text,
        "related": [{"title_id": text, "title": text}],
        "offers": [offer],
    }
    volume = {"title": text, "volume": 1, "format": text, "availability": text, "price_jpy": 1, "isbn": text}
    shown = {"title_id": text, "title": text, "volume": 1, "audience": text, "pages": [{"page": 1, "alt": text}]}
    found = {"results": [title], "understood": [{"condition": text, "from": text}], "relaxed": [text], "total": 1}
    results = (found, details, {"items": [item, item]}, {"volumes": [volume]}, order)
    return dict(zip(TOOLS, [*map(answered, results), answered(shown, images=pages(1))], strict=True))


@pytest.mark.parametrize("tool", TOOLS)
async def test_what_the_catalogue_says_stays_text(tool: str, browser: Browser, at: Origins) -> None:
    """In a narrow frame, one kind after the other, in both languages. A script is seen as what it is."""
    async with drawn(browser, at, tool, everywhere("any")[tool], width=320) as card:
        for turn, (kind, text) in enumerate(HOSTILE.items()):
            await card.redrawn(everywhere(text)[tool], ("en-US", "ja-JP")[turn % 2])
            seen = await card.frame.evaluate(SEEN)
            told = seen.pop("told")
            assert (kind, seen) == (kind, {"made": [], "wider": 0, "taken": False})
            assert not TURNING & set(told), kind
            assert "W" * (SYNOPSIS if tool == "get_manga_details" else LIMIT) not in told, kind
            assert kind != "a script" or "<script>" in told
            assert "[native" not in told, kind


@pytest.mark.parametrize("tool", TOOLS)
async def test_things_of_any_kind_and_size_are_drawn(tool: str, browser: Browser, at: Origins) -> None:
    """What is of another type than promised is as good as not there; a card never fails. Each field is each thing once."""
    names = [*BERSERK, *STOCK, *PARCEL, "volume", "stock", "quantity", "unit_price_jpy"]
    usual = everywhere("any")[tool]
    async with drawn(browser, at, tool, usual, width=320) as card:
        for turn in range(len(JUNK)):
            row = {name: JUNK[(place + turn) % len(JUNK)] for place, name in enumerate(names)}
            lists = {
                name: [row, *JUNK] for name in ("results", "items", "volumes", "lines", "shipments", "offers", "authors")
            }
            await card.redrawn(answered({**usual["structuredContent"], **row, **lists}), ("en-US", "ja-JP")[turn % 2])
            seen = await card.frame.evaluate(SEEN)
            told = seen.pop("told")
            assert (row, seen) == (row, {"made": [], "wider": 0, "taken": False})
            assert not [each for each in ("[object", "[native", "undefined", "NaN") if each in told], row
