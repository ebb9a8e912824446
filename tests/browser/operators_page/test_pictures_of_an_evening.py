"""The operator's page as it looks at three moments of an evening, and that whoever cannot see it is told the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser.axe import violations
from tests.support.browser.kept import like_kept
from tests.support.browser.looking import picture
from tests.support.operators_page import calls, evenings
from tests.support.operators_page.shown import quiet_evening, shown

if TYPE_CHECKING:
    from playwright.async_api import Browser

EVENINGS = ("calm", "opened", "killed")
THEMES = ("light", "dark")
SIZES = ((1280, 720), (390, 844))
VERDICTS = {
    "calm": ("good", "Customers are served."),
    "opened": ("warn", "Customers are served, but catalog has been away for 14 s."),
    "killed": ("bad", "Customers get errors: 6.4 % of the calls seen in the last 30 s failed."),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("evening", EVENINGS)
async def test_it_looks_as_it_is_kept_and_axe_finds_nothing_serious(evening: str, theme: str, browser: Browser) -> None:
    """And one sentence says whether customers suffer. One page for all: opening it takes longer than looking at it."""
    level, words = VERDICTS[evening]
    async with shown(browser, getattr(evenings, evening)(), theme=theme) as own:
        for width, height in SIZES:
            await own.page.set_viewport_size({"width": width, "height": height})
            like_kept(await picture(own.page), f"ops-{evening}-{theme}-{width}")
        assert await own.text("h1") == words
        assert await own.page.locator("html").get_attribute("data-level") == level
        await own.page.set_viewport_size({"width": 1280, "height": 720})
        await own.page.locator(".call").first.click()
        assert await violations(own.page) == []


async def test_an_opened_call_looks_as_it_is_kept(browser: Browser) -> None:
    async with shown(browser, evenings.opened(), theme="dark", height=900) as own:
        await own.page.locator(".call").filter(has_text="standby").nth(2).click()
        await own.page.mouse.move(0, 0)
        like_kept(await picture(own.page.locator(".details:not([hidden])")), "ops-inside-a-call")


async def test_it_says_why_and_what_to_do(browser: Browser) -> None:
    async with shown(browser, evenings.killed()) as own:
        causes = await own.page.locator("#causes li").all_inner_texts()
    assert "lookup_order fails" in causes[0]
    assert "the waterfalls show which attempt waited. (infra/RUNBOOKS.md#mangaslow)" in causes[0]
    assert "orders has been away for 9 s, and is asked again in 640 ms. Connection refused." in causes[1]
    assert "Does not answer. Orders cannot be shown: there is no fallback." in causes[1]


async def test_a_standby_is_named_with_its_share(browser: Browser) -> None:
    async with shown(browser, evenings.opened()) as own:
        assert "search_manga_catalog answers from standby_catalogue: 56 % of 18 calls seen." in await own.text("#causes")


async def test_nothing_is_wider_than_the_window(browser: Browser) -> None:
    async with shown(browser, evenings.opened()) as own:
        await own.page.locator(".call").first.click()
        for width in (1600, 1280, 800, 390, 320):
            await own.page.set_viewport_size({"width": width, "height": 720})
            assert await own.page.evaluate("document.documentElement.scrollWidth") <= width
            outside = "[...document.querySelectorAll('.panel, .figure, h1, .call')].filter(e => e.getBoundingClientRect().right > innerWidth)"
            assert await own.page.evaluate(f"{outside}.length") == 0, width


async def test_only_the_verdict_is_announced_and_only_when_it_changes(browser: Browser) -> None:
    """A screen reader is not to hear the seconds pass."""
    async with shown(browser, evenings.opened()) as own:
        live = "[aria-live], [role=status], [role=alert], [role=log]"
        assert await own.page.locator(live).evaluate_all("all => all.map(one => one.id)") == ["announced"]
        assert await own.text("#announced") == "Customers are served, with less than usual. Away: catalog."


async def test_one_that_nobody_asks_says_so_where_it_is_seen(browser: Browser) -> None:
    """At once, without scrolling: an empty panel could as well be a broken one."""
    events = quiet_evening()
    events[1][1]["calls"]["per_second"] = 0
    events[1][1]["tools"] = []
    async with shown(browser, events) as own:
        assert await own.text("h1") == "All is well; nobody is asking."
        for selector, words in (("#turns-none", "No call since this page was opened"), ("#ladder-none", "No call in")):
            assert words in await own.text(selector)
            box = await own.page.locator(selector).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < 720, selector


async def test_failures_among_calls_that_were_not_shown_count_too(browser: Browser) -> None:
    """Of many calls a second the stream shows some."""
    events = quiet_evening()
    late = {
        "at": events[1][1]["at"] - 2,
        "tool": "compare_prices",
        "name": "TIMEOUT",
        "count": 2,
        "advice": "Look at its load.",
    }
    events[1][1]["errors"].insert(0, late)
    events[1][1]["tools"][6]["errors"] = {"TIMEOUT": 2}
    events.append(("call", calls.live_stock(1, late["at"], 0, "aaaa0001")))
    async with shown(browser, events) as own:
        assert await own.page.locator("html").get_attribute("data-level") == "warn"
        assert "compare_prices fails at times: TIMEOUT, 2 of 288 calls in 5 minutes. Look at its load." in await own.text(
            "#causes"
        )
