"""What makes a picture another one: something that moved, is gone or is coloured otherwise; not how its text is smoothed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.browser import kept
from tests.support.browser.looking import looking, picture

if TYPE_CHECKING:
    from playwright.async_api import Browser

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px sans-serif; margin: 16px; color: #222 }} button {{ padding: 6px 12px; border: 1px solid #888; background: #fff }}
.pale {{ color: #666 }} {style}</style>
<h1>Cards</h1><p>在庫を確認する: in stock, 770 yen</p><p class="pale">Ships within two days</p><button>Check stock</button>"""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "DIFFERENT", tmp_path)
    monkeypatch.delenv(kept.WRITE, raising=False)


async def shot(browser: Browser, style: str = "", width: int = 320) -> bytes:
    async with looking(browser, width=width, height=240) as page:
        await page.set_content(PAGE.format(style=style))
        return await picture(page)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plain(browser: Browser) -> bytes:
    return await shot(browser)


async def test_the_same_page_is_the_same_picture(browser: Browser, plain: bytes) -> None:
    assert kept.difference(await shot(browser), kept.small(plain), "same") is None


@pytest.mark.parametrize(
    "style",
    [
        "button { transform: translateX(2px) }",
        "button { transform: translateY(2px) }",
        "p { position: relative; left: 2px }",
        ".pale { visibility: hidden }",
        ".pale { color: #c00 }",
        "button { background: #def0ff; border-color: #06c }",
        "h1 { font-weight: 400 }",
        "p { letter-spacing: 0.05em }",
    ],
)
async def test_what_a_person_would_see_is_a_difference(style: str, browser: Browser, plain: bytes, tmp_path: Path) -> None:
    """And it is drawn."""
    found = kept.difference(await shot(browser, style), kept.small(plain), "other")
    assert found is not None
    assert (tmp_path / "other.difference.png").is_file()


@pytest.mark.parametrize(
    "style",
    [
        "body { transform: translateX(0.12px) }",
        "body { opacity: 0.97 }",
        "p { position: relative; top: 1px }",
        "button { transform: translateX(1px) }",
    ],
)
async def test_how_text_is_smoothed_and_what_is_rounded_to_a_pixel_is_none(
    style: str, browser: Browser, plain: bytes
) -> None:
    new = await shot(browser, style)
    assert kept.opened(new).tobytes() != kept.opened(plain).tobytes(), "it changes nothing, and proves nothing"
    assert kept.difference(new, kept.small(plain), "smoothed") is None


async def test_a_picture_of_another_size_is_another(browser: Browser, plain: bytes) -> None:
    found = kept.difference(await shot(browser, width=321), plain, "wider")
    assert found == "wider is 321 x 240 pixels, and was 320 x 240"


async def test_one_that_is_not_kept_fails_unless_it_is_to_be_written(
    plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match=r"no picture new\.png is kept.*new\.actual\.png"):
        kept.like_kept(plain, "new", tmp_path)
    monkeypatch.setenv(kept.WRITE, "1")
    kept.like_kept(plain, "new", tmp_path)
    monkeypatch.delenv(kept.WRITE)
    kept.like_kept(plain, "new", tmp_path)
