"""A catalogue whose texts are scripts: a real server serves it, a real browser draws it, and it stays text."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.support.browser.card_results import settings
from tests.support.browser.host_backend import OfServer, backend_of
from tests.support.browser.hosting import hosting
from tests.support.browser.looking import Witness, looking
from tests.support.browser.origins import Origins
from tests.support.serving import ROOT, served

if TYPE_CHECKING:
    from playwright.async_api import Browser

DEMO_PAGES = ROOT / "tools" / "store" / "backends" / "pages" / "demo" / "1"
SCRIPT = "<script>alert(1);window.ran=1</script>"
PICTURE = "<img src=http://one.example/x onerror=alert(2)>"
BREAKS = "\"'></title></style></script><svg onload=alert(3)>"
LINK = "javascript:alert(4)"
HOSTILE: dict[str, Any] = {
    "title_id": "manga-666001",
    "title": {"en": f"Dragon {SCRIPT}", "romaji": f"Ryuu {PICTURE}", "ja": f"竜{BREAKS}", "kana": "りゅう"},
    "alt_titles": [f"Alt {PICTURE}", LINK],
    "authors": [{"name": f"Mallory {PICTURE}", "name_ja": f"悪意{SCRIPT}", "role": f"Story {BREAKS}"}],
    "genre": "seinen",
    "tags": [f"Horror {SCRIPT}", f"{BREAKS}Tag", LINK],
    "synopsis": {"en": f"A tale. {SCRIPT} {PICTURE} {BREAKS} {LINK}", "ja": f"物語。{SCRIPT}{PICTURE}{BREAKS}"},
    "rating": 4.5,
    "volumes": 3,
    "popularity_rank": 1,
    "status": "Publishing",
    "start_year": 2020,
    "magazine": f"Weekly {PICTURE}",
    "offers": [{"format": "physical", "price_jpy": 770, "stock": 3}, {"format": "digital", "price_jpy": 700}],
}
CALLS = [
    ("search_manga_catalog", {"query": "dragon"}),
    ("get_recommendations", {"criteria": "horror"}),
    ("get_manga_details", {"title_id": "manga-666001"}),
    ("check_inventory", {"title_ids": ["manga-666001"]}),
    ("preview_manga_pages", {"title_id": "manga-666001", "volume": 1}),
]
SHOWN = ("alert(1)", "alert(2)", "alert(3)", "<script>")
TEXT = "() => document.body.innerText"
ANSWERED = "() => !document.querySelector('.asking [aria-disabled=true]')"
MADE = """() => ({ran: window.ran ?? null, scripts: document.scripts.length,
    fetching: document.querySelectorAll('img[src]:not([src^="data:"]), a[href], iframe, link, object, embed, [onload], [onerror]').length})"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(tmp_path_factory: pytest.TempPathFactory, at: Origins) -> AsyncIterator[OfServer]:
    folder = tmp_path_factory.mktemp("hostile")
    catalogue = folder / "catalog.jsonl"
    catalogue.write_text(json.dumps(HOSTILE) + "\n", "utf-8")
    pages = folder / "pages"
    shutil.copytree(DEMO_PAGES, pages / HOSTILE["title_id"] / "1")
    (pages / HOSTILE["title_id"] / "1" / "1.txt").write_text(f"Page {SCRIPT} {BREAKS}", "utf-8")
    own = {"MANGA_CATALOG_FILE": str(catalogue), "MANGA_CATALOG_URL": "embedded:", "MANGA_STORE_URL": "embedded:"}
    own["MANGA_PAGES_URL"] = pages.as_uri()
    with served(folder, folder / "cache", **settings(folder), **own) as server:
        async with backend_of(server.url) as backend:
            at.backends["hostile"] = backend
            yield backend


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
async def test_a_script_in_the_catalogue_stays_text(locale: str, browser: Browser, at: Origins, hostile: OfServer) -> None:
    """In the card of each tool, one after the other, with what its buttons bring."""
    witness = Witness()
    async with hosting(browser, at, "hostile", locale=locale, witness=witness, reduced_motion="reduce") as host:
        for tool, arguments in CALLS:
            shown = await (await host.show(tool, arguments)).drawn()
            read = await shown.frame.evaluate(TEXT)
            await _pressed(shown.frame.locator("button:visible:enabled"))
            await shown.frame.wait_for_function(ANSWERED)
            await shown.settled()
            assert (tool, await shown.frame.evaluate(MADE)) == (tool, {"ran": None, "scripts": 1, "fetching": 0})
            read += await shown.frame.evaluate(TEXT)
            assert any(each in read for each in SHOWN), f"{tool} has to show it, as text"
            assert await shown.faults() == [], tool
            witness.nothing()


async def _pressed(buttons: Any) -> None:
    """Every button that is there once, for what they bring is drawn as well."""
    for at in range(min(await buttons.count(), 6)):
        if await buttons.nth(at).is_visible():
            await buttons.nth(at).click()


async def test_the_same_html_in_a_page_that_believes_it_is_noticed(browser: Browser) -> None:
    """What is proved above could fail: a page that took these texts for HTML would be seen to."""
    witness = Witness()
    async with looking(browser, witness=witness) as page:
        await page.set_content("<!doctype html><p></p>")
        await page.evaluate("html => { document.querySelector('p').innerHTML = html }", PICTURE + BREAKS)
        await page.wait_for_function("() => document.images.length === 1 && document.images[0].complete")
    with pytest.raises(AssertionError, match=r"one\.example"):
        witness.nothing()
