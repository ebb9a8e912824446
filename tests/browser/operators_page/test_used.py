"""The operator's page in somebody's hands: keys, pausing, filters, a connection that breaks, and what it costs when nobody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.browser.looking import Witness
from tests.support.operators_page import calls, evenings, states
from tests.support.operators_page.playing import Event
from tests.support.operators_page.shown import SECONDS, quiet_evening, shown
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser

AT = states.AT
SILENT_MS, FIRST_WAIT_MS = 6_000, 1_200
"""What the page waits for a server that says nothing, and at most before it asks one again that was lost."""
HIDE = """hidden => {
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


def stock(number: int, turn: str | None = None) -> Event:
    return ("call", calls.live_stock(number, AT, 0, turn or f"{number:08x}"))


async def test_a_turn_gathers_its_calls(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        own.server.say(
            stock(1, "aaaa0001"), stock(2, "bbbb0002"), ("call", calls.cached(3, "compare_prices", AT, 800, "aaaa0001"))
        )
        await own.counts(".turn", 2)
        await own.counts(".call", 3)
        first = own.page.locator(".turn", has_text="aaaa0001")
        assert await first.locator(".tool").all_inner_texts() == ["check_inventory", "compare_prices"]
        assert "804 ms of 3.00 s used" in await first.inner_text()


async def test_a_call_is_reached_by_tab_opened_by_enter_and_closed_by_escape(browser: Browser) -> None:
    async with shown(browser, evenings.opened()) as own:
        await own.page.locator("#by-trouble").focus()
        await own.page.keyboard.press("Tab")
        name = await own.page.evaluate("document.activeElement.closest('.turn').querySelector('h3').textContent")
        assert name == await own.text(".turn h3")
        await own.page.locator(".call", has_text="check_inventory").first.focus()
        await own.page.keyboard.press("Enter")
        opened = own.page.locator(".details:not([hidden])")
        assert await opened.count() == 1
        assert await opened.locator("tbody th").all_inner_texts() == [*calls.STAGES, "stock", "begin", "end"]
        await own.page.keyboard.press("Escape")
        assert await opened.count() == 0


async def test_focus_is_seen(browser: Browser) -> None:
    async with shown(browser, evenings.opened()) as own:
        for selector in ("#pause", "#by-tool", "#by-trouble", ".call >> nth=0"):
            await own.page.locator(selector).focus()
            await own.page.keyboard.press("Shift")  # from here on focus is a keyboard's
            width = await own.page.locator(selector).evaluate("each => getComputedStyle(each).outlineWidth")
            assert width == "2px", selector


async def test_paused_it_stands_still_and_then_catches_up(browser: Browser) -> None:
    async with shown(browser, evenings.calm()) as own:
        before = await own.text(".turn h3")
        await own.page.locator("#pause").click()
        own.server.say(stock(9001), stock(9002))
        await own.reads("#turns-sum", "paused · 2 calls since")
        assert await own.text(".turn h3") == before
        await own.page.locator("#pause").click()
        await own.reads(".turn h3", f"turn {9002:08x}")
        assert await own.text(".turn h3") == f"turn {9002:08x}"


async def test_it_stands_still_under_a_pointer(browser: Browser) -> None:
    async with shown(browser, evenings.calm()) as own:
        before = await own.text(".turn h3")
        await own.page.locator(".call").nth(2).hover()
        own.server.say(stock(9001))
        await own.reads("#turns-sum", "held while you look · 1 call since")
        assert await own.text(".turn h3") == before
        await own.page.mouse.move(4, 4)
        await own.reads(".turn h3", f"turn {9001:08x}")


async def test_filters_leave_what_is_asked_for(browser: Browser) -> None:
    async with shown(browser, evenings.opened()) as own:
        await own.page.locator("#by-tool").select_option("get_recommendations")
        await own.counts("li:not([hidden]) > .call", 10)
        assert set(await own.page.locator("#turns li:not([hidden]) .tool").all_inner_texts()) == {"get_recommendations"}
        await own.page.locator("#by-tool").select_option("")
        await own.page.locator("#by-source").select_option("fallback")
        await own.counts("li:not([hidden]) > .call", 10)
        await own.page.locator("#by-source").select_option("")
        await own.page.locator("#by-trouble").check()
        await own.counts("li:not([hidden]) > .call", 10)
        await own.page.locator("#by-tool").select_option("lookup_order")
        await own.reads("#turns-none", "No kept turn matches.")


async def test_it_reconnects_and_says_meanwhile_that_figures_are_old(browser: Browser) -> None:
    async with shown(browser, evenings.calm(), witness=Witness()) as own:
        await own.page.clock.install()
        own.server.status = 503
        own.server.cut()
        await own.reads("#link", "Reconnecting since")
        await own.reads("#asof", "These figures are")
        assert await own.text("h1") == "Customers are served."
        await own.page.clock.run_for(FIRST_WAIT_MS)
        await own.reads("#link", "too many of these pages are open, or the server is stopping")
        assert "The connection is lost" in await own.text("#announced")
        own.server.status = 200
        await own.page.clock.run_for(2 * FIRST_WAIT_MS)
        await own.reads("#link", "Live")
        await own.reads("#asof", "as of 20:06:40")
        assert own.server.opened >= 3


async def test_a_server_that_is_silent_is_asked_anew(browser: Browser) -> None:
    """After six seconds, in which a server that lives has told of six states."""
    async with shown(browser, quiet_evening()) as own:
        await own.page.clock.install()
        own.server.say(("state", states.calm(AT + 1)))
        await own.reads("#asof", "as of 20:06:41")
        await own.page.clock.run_for(SILENT_MS)
        await own.reads("#link", f"nothing came for {SILENT_MS // 1000} s")
        await own.page.clock.run_for(FIRST_WAIT_MS)
        await until(lambda: own.server.opened >= 2, SECONDS, "another stream")


async def test_a_page_that_nobody_sees_ends_its_stream(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        await own.page.clock.install()
        await own.page.evaluate(HIDE, True)
        await own.page.clock.run_for(59_000)
        assert await own.text("#link") != "Asleep: nobody looked for a minute"
        await own.page.clock.run_for(2_000)
        await until(lambda: not own.server.streams, SECONDS, "the end of the stream")
        opened = own.server.opened
        await own.page.clock.run_for(120_000)
        assert own.server.opened == opened
        await own.page.evaluate(HIDE, False)
        await until(lambda: own.server.opened == opened + 1, SECONDS, "a new stream")


async def test_a_server_that_drains_says_so(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        own.server.say(("state", states.calm(AT + 1) | {"draining": True}))
        await own.reads("h1", "The server is draining: it finishes what it has and takes no new calls.")


async def test_before_a_server_answers_it_says_that(browser: Browser) -> None:
    async with shown(browser, [], witness=Witness()) as own:
        assert await own.text("h1") == "Connecting to the server…"
        own.server.status = 404
        own.server.cut()
        await own.reads("#link", "the page was switched off")
        assert await own.text("h1") == "The server cannot be reached."
