"""Draws the cards as the documents show them: `python -m tests.browser.document_pictures`. By the real server, in a host's page."""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image

from tests.support.browser import chromium
from tests.support.browser.card_results import settings
from tests.support.browser.host_backend import backend_of
from tests.support.browser.hosting import hosting
from tests.support.browser.kept import opened
from tests.support.browser.origins import Origins, origins
from tests.support.serving import served

if TYPE_CHECKING:
    from playwright.async_api import Browser

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "infra" / "docs" / "pictures" / "cards.png"
MOST_BYTES = 200_000
SEARCH = ("search_manga_catalog", {"query": "fantasy adventure", "max_results": 2})
TITLE = ("get_manga_details", {"title_id": "manga-001019"})
ORDER = ("lookup_order", {"order_id": "MNG-DEMO1003"})
SHELF = ("check_inventory", {"title_ids": ["manga-001016"]})
STOCK = ("check_inventory", {"title_ids": ["manga-001001", "manga-001016"]})
COLUMNS = (
    ((SEARCH, "light", "en-US"), (STOCK, "dark", "ja-JP")),
    ((TITLE, "dark", "en-US"),),
    ((ORDER, "light", "ja-JP"), (SHELF, "dark", "en-US")),
)
"""A call, its host's theme and its language. Chosen to be as long as each other: every card is shown whole."""
WIDTH, GAP = 400, 16
TABLE = (127, 127, 127)


async def _columns(url: str) -> list[list[Image.Image]]:
    async with chromium.launched() as browser, backend_of(url) as backend:
        with origins(asyncio.get_running_loop()) as at:
            at.backends["shop"] = backend
            return [[await _drawn(browser, at, *each) for each in column] for column in COLUMNS]


async def _drawn(browser: Browser, at: Origins, call: Call, theme: Literal["light", "dark"], locale: str) -> Image.Image:
    async with hosting(browser, at, "shop", theme=theme, locale=locale, width=WIDTH) as host:
        shown = await (await host.show(*call)).drawn()
        return opened(await shown.picture())


def composed(columns: list[list[Image.Image]]) -> Image.Image:
    """Column beside column, each card whole."""
    heights = [sum(each.height + GAP for each in column) + GAP for column in columns]
    whole = Image.new("RGB", (len(columns) * (WIDTH + GAP) + GAP, max(heights)), TABLE)
    for at, column in enumerate(columns):
        top = GAP
        for each in column:
            whole.paste(each, (GAP + at * (WIDTH + GAP), top))
            top += each.height + GAP
    return whole


def main() -> int:
    with tempfile.TemporaryDirectory() as name, served(Path(name), Path(name), **settings(Path(name))) as server:
        columns = asyncio.run(_columns(server.url))
    out = io.BytesIO()
    composed(columns).quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    assert out.tell() <= MOST_BYTES, f"{out.tell()} bytes are too many for a document"
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_bytes(out.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
