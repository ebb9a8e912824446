"""Cards by the keyboard alone, without motion and in forced colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser.card_results import BY_CARD, EXAMPLES, Example
from tests.support.browser.host_backend import OfServer
from tests.support.browser.hosting import hosting
from tests.support.browser.origins import Origins
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser

SECONDS = 30.0
SEARCH = BY_CARD["search"]
FOCUSED = "() => { const e = document.activeElement; return e === document.body ? '' : (e.getAttribute('aria-label') || e.innerText) }"
every_card = pytest.mark.parametrize("example", EXAMPLES, ids=[each.card for each in EXAMPLES])


async def test_whoever_has_only_a_keyboard_reaches_every_button(browser: Browser, at: Origins, backend: OfServer) -> None:
    """In the order of the page, each visibly; and the key is what a click is."""
    async with hosting(browser, at, "shop") as host:
        shown = await (await host.show(SEARCH.tool, SEARCH.arguments, SEARCH.result)).drawn()
        buttons = await shown.frame.locator("button:visible").count()
        reached: list[str] = []
        for _ in range(buttons):
            await shown.page.keyboard.press("Tab")
            reached.append(await shown.frame.evaluate(FOCUSED))
            ring = await shown.frame.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", f"{reached[-1]} does not show that it has the focus"
        assert all(reached)
        await shown.frame.locator("button:visible").first.focus()
        await shown.page.keyboard.press("Enter")
        await until(lambda: _called(backend), SECONDS, "a call")


def _called(backend: OfServer) -> bool:
    return bool(backend.calls) and backend.calls[-1][0] == "check_inventory"


@every_card
async def test_nothing_moves_for_those_who_want_it_so(
    example: Example, browser: Browser, at: Origins, backend: OfServer
) -> None:
    async with hosting(browser, at, "shop", reduced_motion="reduce") as host:
        shown = await host.show(example.tool, example.arguments, "held")
        await shown.drawn("waiting")
        running = "() => document.getAnimations().filter((each) => each.playState === 'running').length"
        assert await shown.frame.evaluate(running) == 0
        await shown.release(example.result)
        await shown.drawn()
        assert await shown.frame.evaluate(running) == 0


@every_card
async def test_with_forced_colours_every_button_has_an_edge_and_text_is_read(
    example: Example, browser: Browser, at: Origins, backend: OfServer
) -> None:
    async with hosting(browser, at, "shop", forced_colors="active") as host:
        shown = await (await host.show(example.tool, example.arguments, example.result)).drawn()
        bare = await shown.frame.evaluate(
            """() => [...document.querySelectorAll('button')].filter((each) => {
                const style = getComputedStyle(each);
                return style.borderStyle === 'none' || style.borderWidth === '0px';
            }).map((each) => each.innerText)"""
        )
        assert bare == []
        assert await shown.frame.evaluate("() => matchMedia('(forced-colors: active)').matches")
