"""What a page does that it must not is noticed: without these the tests of cards and pages would prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import axe
from tests.support.browser.looking import Witness, looking
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser

SECONDS = 30.0
HERE = "http://127.0.0.1:9/page"


@pytest.mark.parametrize(
    ("html", "asked"),
    [
        ("<img src='http://other.example/a.png'>", "http://other.example/a.png"),
        ("<script>fetch('http://127.0.0.1:10/x').catch(() => 0)</script>", "http://127.0.0.1:10/x"),
        ("<script>new WebSocket('ws://other.example/s')</script>", "ws://other.example/s"),
        ("<style>@import 'http://other.example/a.css';</style>", "http://other.example/a.css"),
        ("<script>navigator.sendBeacon('http://other.example/b', '1')</script>", "http://other.example/b"),
    ],
)
async def test_a_request_to_somebody_else_is_stopped_and_noticed(html: str, asked: str, browser: Browser) -> None:
    witness = Witness()
    async with looking(browser, witness=witness) as page:
        await page.route(HERE, lambda route: route.fulfill(body=f"<!doctype html>{html}", content_type="text/html"))
        await page.goto(HERE, wait_until="commit")
        await until(lambda: asked in witness.foreign, SECONDS, f"a request to {asked}")
    with pytest.raises(AssertionError, match="asked somebody else"):
        witness.nothing()


async def test_a_dialog_and_an_uncaught_error_are_noticed(browser: Browser) -> None:
    witness = Witness()
    async with looking(browser, witness=witness) as page:
        await page.set_content("<!doctype html><script>alert('here'); throw new Error('wrong')</script>")
        await until(lambda: bool(witness.dialogs and witness.errors), SECONDS, "both noticed")
    assert witness.dialogs == ["here"]
    assert "wrong" in witness.errors[0]


async def test_axe_finds_what_it_should(browser: Browser) -> None:
    async with looking(browser) as page:
        await page.set_content("<!doctype html><html lang=en><title>A page</title><main><h1>A</h1><button></button></main>")
        found = await axe.violations(page)
    assert [each.split(" ")[0] for each in found] == ["button-name"]
