"""The operator's page of a real server, over a real DynamoDB that is killed while shoppers shop: it stays right, as a picture too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.stack import dynamodb
from tests.stack.children import Running
from tests.stack.require import require
from tests.support.browser.axe import violations
from tests.support.browser.kept import DIFFERENT
from tests.support.browser.looking import looking, picture
from tests.support.operators_page.playing import Playing
from tests.support.operators_page.shoppers import shopping
from tests.support.operators_page.shown import Shown
from tests.support.serving import Serving, served
from tests.support.stack import seeded

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def tables() -> Iterator[Running]:
    require("DynamoDB", dynamodb.missing())
    with dynamodb.started() as running:
        yield running


@pytest.fixture(scope="module")
def shop(tables: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    settings = {"MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={tables.url}&table_prefix=ops-"}
    done = seeded(settings)
    assert done.returncode == 0, done.stderr
    with served(
        tmp_path_factory.mktemp("server"), tmp_path_factory.mktemp("cache"), MANGA_EMBEDDER="none", **settings
    ) as own:
        yield own


async def test_it_stays_right_when_a_backend_is_killed(shop: Serving, tables: Running, browser: Browser) -> None:
    """Orders live in DynamoDB alone: whoever asks for one gets an error. All else is answered from a lower rung."""
    async with looking(browser, shop.url, width=1280, height=900, theme="dark") as page, shopping(shop.port):
        await page.goto(f"{shop.url}/ops")
        own = Shown(page, Playing([]))
        await own.holds("turnList.kept.size >= 20 && document.documentElement.dataset.level === 'good'")
        assert await own.text("h1") == "Customers are served."
        assert await own.count("#breakers [data-kind=closed]") == await own.count("#breakers tr")
        tables.child.kill()
        await own.reads("h1", "Customers get errors")
        await own.reads("#breakers tr:has([data-kind=open], [data-kind=half_open])", "orders")
        await own.reads("#causes", "lookup_order fails")
        await own.reads("#errors li", "lookup_order")
        await own.reads(".turn[data-level=bad]", "lookup_order")
        await own.reads("#dependencies tr:has([data-kind=down], [data-kind=degraded])", "orders")
        await own.page.locator("#by-trouble").check()
        DIFFERENT.mkdir(parents=True, exist_ok=True)
        (DIFFERENT / "ops-live-killed.png").write_bytes(await picture(page))
        assert await violations(page) == []
        await own.page.locator(".call", has_text="lookup_order").first.click()
        assert await own.count(".intervals tbody tr") > 5
