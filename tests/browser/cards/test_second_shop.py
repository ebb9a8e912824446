"""The cards of a shop that shares nothing with the demo, drawn from what its own server answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.second_shop.make import COVERS
from tests.second_shop.test_second_shop import CATALOGUE, ORDERS, OWN, OWNER, SETTINGS
from tests.support.browser.host_backend import Json, backend_of
from tests.support.browser.hosting import hosting
from tests.support.browser.origins import Origins
from tests.support.serving import served

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

TITLE = CATALOGUE["hb-00001"]
NAME, PRICE = TITLE["title"]["en"], f"${TITLE['offers'][0]['price_usd']:.2f}"
PIXEL = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def second(at: Origins, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The name of the host's backend that asks this shop's server."""
    serving = served(tmp_path_factory.mktemp("second"), tmp_path_factory.mktemp("cache"), **SETTINGS)
    shop = await asyncio.to_thread(serving.__enter__)
    try:
        async with backend_of(shop.url, OWNER) as own:
            at.backends["second"] = own
            yield "second"
    finally:
        await asyncio.to_thread(serving.__exit__, None, None, None)


CARDS: tuple[tuple[str, Json, tuple[str, ...]], ...] = (
    ("search_manga_catalog", {"query": NAME, "max_results": 3}, (NAME, PRICE)),
    ("get_manga_details", {"title_id": TITLE["title_id"]}, (NAME, PRICE)),
    ("check_inventory", {"title_ids": [TITLE["title_id"]]}, (NAME, PRICE)),
    ("lookup_order", {"order_id": OWN}, (OWN, f"${ORDERS[OWN]['total_usd']:.2f}")),
)


async def picture(route: Route) -> None:
    await route.fulfill(body=PIXEL, content_type="image/svg+xml")


async def test_each_card_tells_of_this_shop_in_both_languages(browser: Browser, at: Origins, second: str) -> None:
    for locale in ("en-US", "ja-JP"):
        async with hosting(browser, at, second, locale=locale) as host:
            await host.page.context.route(f"https://{COVERS}/**", picture)
            for tool, arguments, facts in CARDS:
                told = await (await (await host.show(tool, arguments)).drawn()).text()
                assert [fact for fact in facts if fact not in told] == [], (locale, tool)
                assert [word for word in ("¥", "円", "MangaAssist", "MNG-") if word in told] == [], (locale, tool)


async def test_the_card_of_a_title_tells_of_its_edition_and_opens_its_page_by_the_host(
    browser: Browser, at: Origins, second: str
) -> None:
    """A host that opens no links is not asked to, and no other address than https is opened."""
    arguments, edition = {"title_id": TITLE["title_id"]}, {"en-US": "American English edition", "ja-JP": "アメリカ英語版"}
    for locale, said in edition.items():
        async with hosting(browser, at, second, locale=locale) as host:
            await host.page.context.route(f"https://{COVERS}/**", picture)
            shown = await (await host.show("get_manga_details", arguments)).drawn()
            told = await shown.text()
            assert (TITLE["publisher"] in told, said in told) == (True, True), told
            await shown.frame.locator(".part button", has_text={"en-US": "in the shop", "ja-JP": "商品"}[locale]).click()
            assert [each["url"] for each in await shown.hears("ui/open-link")] == [TITLE["product_url"]]
    plain = {"title_id": "hb-00001", "title": "Plain", "offers": [], "product_url": "javascript:alert(1)"}
    async with hosting(browser, at, second) as host:
        for options, record in (({}, plain), ({"capabilities": {}}, {**plain, "product_url": TITLE["product_url"]})):
            result = {"content": [], "structuredContent": record}
            shown = await (await host.show("get_manga_details", arguments, result, **options)).drawn()
            assert "Ways to buy" not in await shown.text()
