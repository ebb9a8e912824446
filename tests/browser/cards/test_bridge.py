"""The protocol in the frame, with a card that writes down what it is told: who is heard, and what is taken of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser.origins import Origins
from tests.support.browser.probe import CHANGED, RESULT, SIZE, heard, probed

if TYPE_CHECKING:
    from playwright.async_api import Browser


async def test_a_card_hears_of_input_of_each_result_and_of_the_end(browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        await shown.tell(RESULT, {"content": [], "structuredContent": {"a": 1}})
        await shown.tell(RESULT, {"content": [{"type": "text", "text": '{"b": 2}'}]})
        await shown.tell(RESULT, {"content": [{"type": "text", "text": "no JSON"}]})
        await shown.tell("ui/notifications/tool-cancelled", {"reason": "stopped"})
        told = await heard(shown)
        assert told[:2] == [{"input": {}}, {"input": {"to": "you"}}]
        results = [{"result": each, "locale": "en-US"} for each in ({"a": 1}, {"b": 2}, {})]
        assert told[2:] == [*results, {"cancelled": "stopped"}]
        assert await shown.frame.evaluate("() => document.documentElement.dataset.state") == "cancelled"


async def test_nobody_but_the_host_is_heard(browser: Browser, at: Origins) -> None:
    """A page can post to itself, which is not its parent."""
    forged = {"jsonrpc": "2.0", "method": RESULT, "params": {"structuredContent": {"forged": True}}}
    async with probed(browser, at) as shown:
        await shown.frame.evaluate(
            "forged => new Promise((d) => { addEventListener('message', d); postMessage(forged, '*'); })", forged
        )
        assert len(await heard(shown)) == 2


@pytest.mark.parametrize(
    "junk",
    [
        {"method": RESULT, "params": {"structuredContent": {}}},
        {"jsonrpc": "1.0", "method": RESULT},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "method": 7},
        {"jsonrpc": "2.0", "method": "ui/notifications/unheard-of", "params": {}},
        {"jsonrpc": "2.0", "method": "constructor", "params": {}},
        {"jsonrpc": "2.0", "id": 999, "result": {}},
        {"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"},
        {"jsonrpc": "2.0", "method": "ui/notifications/tool-input", "params": [[["x"]]]},
    ],
    ids=str,
)
async def test_what_is_no_message_changes_nothing(junk: dict[str, Any], browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        await shown.page.evaluate("junk => host.card.frame.contentWindow.postMessage(junk, '*')", junk)
        told = await heard(shown)
        assert told[:2] == [{"input": {}}, {"input": {"to": "you"}}]
        assert all(each == {"input": {}} for each in told[2:])


@pytest.mark.parametrize("method", ["tools/list", "ui/unheard-of", "toString", "__proto__"])
async def test_a_request_that_a_card_does_not_know_is_refused(method: str, browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        with pytest.raises(Exception, match="no such method"):
            await shown.ask(method, {})
        assert len(await heard(shown)) == 2


async def test_a_size_is_told_when_it_has_changed_and_not_otherwise(browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        await shown.settled()
        before = await shown.said(SIZE)
        assert before == [dict(each) for each in {tuple(each.items()): None for each in before}], "none twice"
        await shown.frame.evaluate("() => { document.getElementById('card').style.height = '333px'; }")
        after = await shown.hears(SIZE, len(before) + 1)
        height = await shown.frame.evaluate("() => Math.ceil(document.documentElement.getBoundingClientRect().height)")
        assert after[-1] == {"width": 800, "height": height}
        assert height >= 333
        await shown.frame.evaluate("() => { document.getElementById('card').style.color = 'red'; }")
        await shown.settled()
        assert len(await shown.said(SIZE)) == len(after)


async def test_of_a_hosts_style_nothing_is_taken_that_could_fetch(browser: Browser, at: Origins) -> None:
    variables = {
        "--color-text-primary": "light-dark(#111, #eee)",
        "--font-sans": '"Some Font", sans-serif',
        "--color-background-primary": "url(http://one.example/a.png)",
        "--shadow-sm": "image-set('http://one.example/b.png' 1x)",
        "--color-text-info": "u\\72l(http://one.example/c.png)",
        "--own-thing": "1px",
        "color": "red",
    }
    fonts = "@font-face { font-family: F; src: url(http://one.example/f.woff2); } body { font-family: F; }"
    styles = {"variables": variables, "css": {"fonts": fonts}}
    insets = {"top": 5, "right": -1, "bottom": "9px", "left": 1e9}
    async with probed(browser, at, context={"styles": styles, "safeAreaInsets": insets}) as shown:
        taken = await shown.frame.evaluate(
            "() => [...document.documentElement.style].filter((each) => each.startsWith('--'))"
        )
        assert sorted(taken) == ["--color-text-primary", "--font-sans", "--safe-top"]
        assert await shown.frame.evaluate("() => document.querySelectorAll('style').length") == 1


async def test_a_card_is_drawn_again_in_another_language_and_not_for_another_size_or_theme(
    browser: Browser, at: Origins
) -> None:
    async with probed(browser, at) as shown:
        await shown.tell(RESULT, {"content": [], "structuredContent": {"a": 1}})
        await shown.tell(CHANGED, {"containerDimensions": {"width": 500}})
        await shown.tell(CHANGED, {"theme": "dark"})
        await shown.tell(CHANGED, {"locale": "ja-JP"})
        told = await heard(shown)
        assert told[2:] == [{"result": {"a": 1}, "locale": locale} for locale in ("en-US", "ja-JP")]
        root = await shown.frame.evaluate("() => [document.documentElement.lang, document.documentElement.dataset.theme]")
        assert root == ["ja-JP", "dark"]


async def test_a_fault_in_drawing_is_seen_and_told_and_ends_nothing(browser: Browser, at: Origins) -> None:
    async with probed(browser, at, capabilities={}) as shown:
        await shown.tell(RESULT, {"content": [], "structuredContent": {"fails": True}})
        await heard(shown)
        assert await shown.frame.evaluate("() => document.documentElement.dataset.state") == "failed"
        assert await shown.said("notifications/message") == [], "a host that takes no log is told none"
        await shown.tell(RESULT, {"content": [], "structuredContent": {"a": 1}})
        assert (await heard(shown))[-1]["result"] == {"a": 1}
    with pytest.raises(AssertionError, match="logged: .*it fails"):
        async with probed(browser, at) as shown:
            await shown.tell(RESULT, {"content": [], "structuredContent": {"fails": True}})
            await shown.hears("notifications/message")
