"""Draws the cards as the documents show them: `python -m tests.browser.document_pictures`. By the real server, in a host's page."""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image

from tests.support.browser import chromium
from tests.support.browser.card_results import BY_CARD, settings
from tests.support.browser.host_backend import backend_of
from tests.support.browser.hosting import hosting
from tests.support.browser.kept import opened
from tests.support.browser.origins import Origins, origins
from tests.support.serving import served

if TYPE_CHECKING:
    from playwright.async_api import Browser

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "infra" / "docs" / "pictures" / "cards.png"
MOST_BYTES = 200_000
COLUMNS = (
    (("search", "light", "en-US"), ("stock", "dark", "ja-JP")),
    (("title", "dark", "en-US"), ("preview", "light", "ja-JP")),
    (("order", "light", "en-US"),),
)
"""Of a card, its host's theme and its language."""
WIDTH, GAP, TALLEST = 400, 16, 1000
TABLE = (127, 127, 127)


async def _columns(url: str) -> list[list[Image.Image]]:
    async with chromium.launched() as browser, backend_of(url) as backend:
        with origins(asyncio.get_running_loop()) as at:
            at.backends["shop"] = backend
            return [[await _drawn(browser, at, *each) for each in column] for column in COLUMNS]


async def _drawn(browser: Browser, at: Origins, card: str, theme: Literal["light", "dark"], locale: str) -> Image.Image:
    example = BY_CARD[card]
    async with hosting(browser, at, "shop", theme=theme, locale=locale, width=WIDTH) as host:
        shown = await (await host.show(example.tool, example.arguments)).drawn()
        return opened(await shown.picture())


def composed(columns: list[list[Image.Image]]) -> Image.Image:
    """Column beside column; what is longer than `TALLEST` is cut."""
    heights = [sum(each.height + GAP for each in column) + GAP for column in columns]
    whole = Image.new("RGB", (len(columns) * (WIDTH + GAP) + GAP, min(max(heights), TALLEST)), TABLE)
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
