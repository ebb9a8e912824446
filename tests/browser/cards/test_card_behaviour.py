"""What cards do in a host: they ask it and nobody else, say how much room they need, follow its theme, wait, and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser.card_results import BY_CARD, EXAMPLES, Example
from tests.support.browser.host_backend import OfServer
from tests.support.browser.hosting import CAPABILITIES, TALLEST, hosting
from tests.support.browser.origins import Origins

if TYPE_CHECKING:
    from playwright.async_api import Browser

SEARCH = BY_CARD["search"]
BACKGROUND = """() => { const seen = [document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor);
    return seen.find((each) => each !== 'rgba(0, 0, 0, 0)') }"""
every_card = pytest.mark.parametrize("example", EXAMPLES, ids=[each.card for each in EXAMPLES])


@every_card
async def test_a_live_result_is_drawn_and_the_host_knows_its_size(
    example: Example, browser: Browser, at: Origins, backend: OfServer
) -> None:
    async with hosting(browser, at, "shop", width=480) as host:
        shown = await (await host.show(example.tool, example.arguments)).drawn()
        assert len(await shown.text()) > 20
        told = (await shown.hears("ui/notifications/size-changed"))[-1]
        actual = await shown.frame.evaluate("() => document.documentElement.getBoundingClientRect().height")
        assert told["height"] == pytest.approx(actual, abs=1)
        assert told["width"] == 480
        assert 40 < told["height"] < TALLEST


@every_card
async def test_while_nothing_has_come_it_says_so(example: Example, browser: Browser, at: Origins, backend: OfServer) -> None:
    """And draws the result when it comes, however late."""
    async with hosting(browser, at, "shop") as host:
        shown = await host.show(example.tool, example.arguments, "held")
        await shown.drawn("waiting")
        waiting = await shown.text()
        assert waiting.strip()
        await shown.release(example.result)
        await shown.drawn()
        assert await shown.text() != waiting


@every_card
async def test_a_call_that_was_stopped_is_said_to_be(
    example: Example, browser: Browser, at: Origins, backend: OfServer
) -> None:
    async with hosting(browser, at, "shop") as host:
        shown = await host.show(example.tool, example.arguments, "held")
        await shown.tell("ui/notifications/tool-cancelled", {"reason": "the customer has left"})
        await shown.drawn("cancelled")
        assert (await shown.text()).strip()


@every_card
async def test_a_failure_of_the_tool_is_told_in_words(
    example: Example, browser: Browser, at: Origins, backend: OfServer
) -> None:
    failure = await backend.answer("tools/call", {"name": example.tool, "arguments": {"no_such": 1}})
    assert failure["isError"]
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(example.tool, example.arguments, failure)).drawn()
        text = await shown.text()
        assert text.strip()
        assert "undefined" not in text
        assert "[object" not in text


@every_card
async def test_it_ends_when_it_is_told_to(example: Example, browser: Browser, at: Origins, backend: OfServer) -> None:
    """It answers, and says nothing more, whatever happens to its frame."""
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(example.tool, example.arguments, example.result)).drawn()
        assert await shown.ask("ui/resource-teardown", {"reason": "the conversation is over"}) == {}
        before = await shown.page.evaluate("() => host.card.log.length")
        await shown.page.evaluate("() => { host.card.frame.style.width = '300px' }")
        await shown.frame.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert await shown.page.evaluate("() => host.card.log.length") == before


async def test_a_button_asks_the_host_for_stock(browser: Browser, at: Origins, backend: OfServer) -> None:
    """By tools/call, which the host passes to the server: what is then shown is what the server answered."""
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result)).drawn()
        before, asked = await shown.text(), len(backend.calls)
        await shown.frame.get_by_role("button", name="Check stock").first.click()
        call = (await shown.hears("tools/call"))[0]
        assert call["name"] == "check_inventory"
        first = SEARCH.result["structuredContent"]["results"][0]["title_id"]
        assert call["arguments"]["title_ids"] == [first]
        await shown.frame.wait_for_function("before => document.body.innerText.length > before.length + 10", arg=before)
        assert [name for name, _ in backend.calls[asked:]] == ["check_inventory"]
        assert not await shown.said("ui/message")


async def test_a_button_for_more_like_this_shows_other_titles(browser: Browser, at: Origins, backend: OfServer) -> None:
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result)).drawn()
        before = await shown.text()
        await shown.frame.get_by_role("button", name="More like this").first.click()
        assert (await shown.hears("tools/call"))[0]["name"] == "get_recommendations"
        await shown.frame.wait_for_function(
            "before => document.body.innerText !== before && !document.querySelector('[aria-busy=true]')", arg=before
        )
        first = SEARCH.result["structuredContent"]["results"][0]["title"]
        assert first in await shown.text()


async def test_where_the_host_calls_no_tools_it_is_asked_by_a_message(
    browser: Browser, at: Origins, backend: OfServer
) -> None:
    """The customer's own words, which the host may put to the model; no tool is called."""
    without = {key: value for key, value in CAPABILITIES.items() if key != "serverTools"}
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result, capabilities=without)).drawn()
        asked = len(backend.calls)
        await shown.frame.get_by_role("button", name="Check stock").first.click()
        message = (await shown.hears("ui/message"))[0]
        assert message["role"] == "user"
        assert SEARCH.result["structuredContent"]["results"][0]["title"] in message["content"][0]["text"]
        assert not await shown.said("tools/call")
        assert len(backend.calls) == asked


async def test_a_message_that_the_host_does_not_take_is_not_said_to_be_sent(
    browser: Browser, at: Origins, backend: OfServer
) -> None:
    without = {key: value for key, value in CAPABILITIES.items() if key != "serverTools"}
    told = []
    for deaf in (False, True):
        async with hosting(browser, at, "shop") as host:
            shown = await (
                await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result, capabilities=without, deaf=deaf)
            ).drawn()
            before = await shown.text()
            await shown.frame.get_by_role("button", name="Check stock").first.click()
            await shown.hears("ui/message")
            await shown.frame.wait_for_function("before => document.body.innerText !== before", arg=before)
            await shown.settled()
            told.append(await shown.text())
    assert told[0] != told[1]


@every_card
async def test_it_follows_the_theme_of_its_host(example: Example, browser: Browser, at: Origins, backend: OfServer) -> None:
    """Without a new result: what was drawn stays, in other colours."""
    async with hosting(browser, at, "shop", theme="light") as host:
        shown = await (await host.show(example.tool, example.arguments, example.result)).drawn()
        text, light = await shown.text(), await shown.frame.evaluate(BACKGROUND)
        await shown.tell("ui/notifications/host-context-changed", {"theme": "dark"})
        await shown.frame.wait_for_function(f"light => ({BACKGROUND})() !== light", arg=light)
        assert await shown.text() == text


async def test_it_follows_the_language_of_its_host(browser: Browser, at: Origins, backend: OfServer) -> None:
    async with hosting(browser, at, "shop", locale="en-US") as host:
        shown = await (await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result)).drawn()
        await shown.tell("ui/notifications/host-context-changed", {"locale": "ja-JP"})
        await shown.frame.wait_for_function(
            "() => document.documentElement.lang.startsWith('ja') && /在庫/.test(document.body.innerText)"
        )


async def test_it_takes_the_colours_of_its_host(browser: Browser, at: Origins, backend: OfServer) -> None:
    """Variables of the specification, and none that would fetch something."""
    variables = {"--color-background-primary": "rgb(1, 2, 3)", "--color-text-primary": "url(http://one.example/x)"}
    async with hosting(browser, at, "shop") as host:
        shown = await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result, context={"styles": {"variables": variables}})
        await shown.drawn()
        assert (
            await shown.frame.evaluate("() => document.documentElement.style.getPropertyValue('--color-text-primary')") == ""
        )
        style = "() => document.documentElement.style.getPropertyValue('--color-background-primary')"
        assert await shown.frame.evaluate(style) == "rgb(1, 2, 3)"
