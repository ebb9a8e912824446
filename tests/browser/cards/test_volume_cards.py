"""Volumes as a shopper sees and walks them: the shelf, the table of stock, one title's details, and pages to look into."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

import pytest

from tests.support.browser.given import drawn
from tests.support.browser.origins import Origins
from tests.support.browser.results import BERSERK, STOCK, Json, answered, pages

if TYPE_CHECKING:
    from playwright.async_api import Browser

OTHER: Json = STOCK | {"title_id": "manga-2", "title": "Nana", "formats": STOCK["formats"][:1]}
FOCUSED = "() => document.activeElement.textContent"
BYTES = 1_500_000


@pytest.mark.parametrize("width", [320, 800])
async def test_stock_of_several_titles_is_read_as_a_table(width: int, browser: Browser, at: Origins) -> None:
    """Narrow, where each row looks like a block of its own, too."""
    async with drawn(browser, at, "check_inventory", answered({"items": [STOCK, OTHER]}), width=width) as card:
        table = card.frame.get_by_role("table")
        assert [await each.text_content() for each in await table.get_by_role("columnheader").all()] == [
            "Title",
            "Paper",
            "E-book",
        ]
        rows = (await table.get_by_role("row").all())[1:]
        assert (await rows[0].get_by_role("rowheader").text_content() or "").startswith("Berserk11 of 12 volumesmissing 12")
        paper, digital = await rows[0].get_by_role("cell").all()
        assert "¥693Some volumes" in (await paper.locator("div").text_content() or "")
        assert [
            each
            for each in ("¥335", "¥671", "Winter fair · until Dec 15", "Download")
            if each not in await digital.inner_text()
        ] == []
        assert "not sold in this format" in (await rows[1].get_by_role("cell").nth(1).text_content() or "")


@pytest.mark.parametrize(
    ("locale", "twelfth", "thirteenth", "summed"),
    [
        (
            "en-US",
            "12Vol. 12, Out of stock, back Mon, Dec 14",
            "13Vol. 13, Pre-order, from Thu, Jan 21",
            "11 in stock missing: 12 to come: 13",
        ),
        (
            "ja-JP",
            "1212巻, 在庫切れ, 12月14日(月)再入荷予定",
            "1313巻, 予約受付中, 1月21日(木)発売予定",
            "在庫あり 11冊 在庫切れ 12巻 発売予定 13巻",
        ),
    ],
)
async def test_the_shelf_says_which_are_there_missing_and_to_come(
    locale: str, twelfth: str, thirteenth: str, summed: str, browser: Browser, at: Origins
) -> None:
    async with drawn(browser, at, "check_inventory", answered({"items": [STOCK]}), locale=locale) as card:
        assert " ".join((await card.frame.locator(".sum").inner_text()).split()) == summed
        volumes = card.frame.get_by_role("grid").get_by_role("gridcell")
        assert await volumes.count() == 13
        assert await volumes.nth(11).text_content() == twelfth
        assert await volumes.nth(12).text_content() == thirteenth


async def test_arrow_keys_walk_the_shelf_and_one_stop_reaches_it(browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, "check_inventory", answered({"items": [STOCK]})) as card:
        grid = card.frame.get_by_role("grid")
        assert await grid.locator("[tabindex='0']").count() == 1
        await grid.get_by_role("gridcell").first.focus()
        for key, volume in (
            ("ArrowRight", "2"),
            ("ArrowDown", "12"),
            ("ArrowLeft", "11"),
            ("End", "13"),
            ("Home", "1"),
            ("ArrowUp", "1"),
        ):
            await card.frame.locator(":focus").press(key)
            assert (await card.frame.evaluate(FOCUSED)).startswith(f"{volume}Vol. {volume},"), key
        assert await grid.locator("[tabindex='0']").count() == 1


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({}, ["Which volumes are in stock?"]),
        ({"tools": ["check_inventory"]}, ["Which volumes are in stock?"]),
        ({"tools": ["preview_manga_pages"]}, ["Look inside"]),
        ({"tools": []}, []),
        ({"tools": "preview_manga_pages"}, ["Which volumes are in stock?"]),
    ],
)
async def test_a_title_has_buttons_for_tools_that_are_on_alone(
    told: Json, shown: list[str], browser: Browser, at: Origins
) -> None:
    result = answered(BERSERK | {"synopsis": {}})
    result["_meta"]["com.mangaassist/card"] = told
    async with drawn(browser, at, "get_manga_details", result) as card:
        assert [await each.inner_text() for each in await card.frame.get_by_role("button").all()] == shown


@pytest.mark.parametrize("of_the_shop", [True, False])
async def test_a_cover_is_the_shops_picture_where_it_is_on_its_host_and_drawn_otherwise(
    of_the_shop: bool, browser: Browser, at: Origins
) -> None:
    """A picture from elsewhere is not even asked for."""
    host = "img.shop.example" if of_the_shop else "img.shop.example.evil.example"
    details = answered(BERSERK | {"synopsis": {}, "cover_url": f"https://{host}/1.png"})
    async with drawn(browser, at, "get_manga_details", answered({}), hosts=["img.shop.example"]) as card:
        png = b64decode(pages(1)[0]["data"])
        await card.page.context.route("https://img.shop.example/1.png", lambda route: route.fulfill(body=png))
        await card.page.evaluate("result => host.release(result)", details)
        await card.drawn()
        if of_the_shop:
            await card.frame.locator("img.cover").wait_for()
        assert await card.frame.locator(".picture > *").count() == 1
        assert await card.frame.locator("svg.cover").count() == (0 if of_the_shop else 1)


async def test_details_ask_which_volumes_are_there_and_fold_a_long_synopsis(browser: Browser, at: Origins) -> None:
    long = "A swordsman walks on. " * 60
    details = BERSERK | {"titles": {"ja": "ベルセルク"}, "synopsis": {"en": long, "ja": None}, "offers": STOCK["formats"]}
    async with drawn(browser, at, "get_manga_details", answered(details)) as card:
        more = card.frame.get_by_role("button", name="Read more")
        folded = await card.frame.locator("#synopsis").bounding_box()
        assert await more.get_attribute("aria-expanded") == "false"
        await more.click()
        opened = await card.frame.locator("#synopsis").bounding_box()
        assert folded is not None
        assert opened is not None
        assert opened["height"] > folded["height"] * 2
        assert await card.frame.locator("[aria-controls=synopsis]").get_attribute("aria-expanded") == "true"
        await card.frame.get_by_role("button", name="Which volumes are in stock?").click()
        await card.frame.get_by_text("missing: 12").wait_for()
        assert await card.said("tools/call") == [{"name": "check_inventory", "arguments": {"title_ids": ["manga-002001"]}}]


@pytest.mark.parametrize(
    ("width", "at_first", "then"), [(320, ["Panel 1"], ["Panel 2"]), (800, ["Panel 2", "Panel 1"], ["Panel 3"])]
)
async def test_pages_are_turned_from_right_to_left(
    width: int, at_first: list[str], then: list[str], browser: Browser, at: Origins
) -> None:
    """As one sees them, from left to right: of two pages the first is the right one."""
    result = answered({"title_id": "manga-1", "title": "Berserk", "volume": 1, "pages": []}, images=pages(3))
    in_view = "() => [...document.images].sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x).map((each) => each.alt)"
    async with drawn(browser, at, "preview_manga_pages", result, width=width) as card:
        assert await card.frame.evaluate(in_view) == at_first
        book = card.frame.locator(".book")
        await book.press("ArrowLeft")
        assert await card.frame.evaluate(in_view) == then
        await book.press("ArrowRight")
        assert await card.frame.evaluate(in_view) == at_first
        await card.frame.get_by_role("button", name="Next page").click()
        assert await card.frame.evaluate(in_view) == then
        assert "of 3" in await card.frame.locator(".where").inner_text()


async def test_only_pictures_become_pages_and_no_more_than_a_frame_can_hold(browser: Browser, at: Origins) -> None:
    good = pages(1)
    others = [
        {"type": "image", "mimeType": "image/svg+xml", "data": good[0]["data"]},
        {"type": "image", "mimeType": "image/png", "data": "https://one.example/a.png"},
        {"type": "image", "mimeType": "image/png", "data": "A" * BYTES},
    ]
    result = answered({"title_id": "manga-1", "title": "Berserk", "volume": 1, "pages": []}, images=[*good, *others])
    async with drawn(browser, at, "preview_manga_pages", result) as card:
        assert await card.frame.locator("img").count() == 1
        assert "3 pages could not be shown." in await card.text()
