"""What a card asks of its host by the protocol in the frame, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.browser.origins import Origins
from tests.support.browser.probe import SIZE, heard, probed

if TYPE_CHECKING:
    from playwright.async_api import Browser

ASK = "async (words) => { try { return ['taken', await %s]; } catch (error) { return ['refused', error.message]; } }"


async def test_a_tool_is_called_by_the_host_where_the_host_does_that(browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        called = await shown.frame.evaluate(ASK % "probe.ask.callTool('say', { a: 1 })")
        assert (called[0], called[1]["structuredContent"]) == ("taken", {"said": 1})
        assert await shown.frame.evaluate(ASK % "probe.ask.callTool('other')") == ["refused", "no such tool"]
    async with probed(browser, at, capabilities={}) as shown:
        assert not await shown.frame.evaluate("() => probe.context.tools")
        assert (await shown.frame.evaluate(ASK % "probe.ask.callTool('say')"))[0] == "refused"
        assert await shown.said("tools/call") == []


async def test_a_message_is_said_in_the_form_that_the_host_takes(browser: Browser, at: Origins) -> None:
    """As a list of blocks, which hosts in the field take; one that takes a single block, as the specification's text has it, refuses
    that as malformed, and is asked once more. One that has said no is not."""
    utter = ASK % "probe.ask.message('more like this')"
    block = {"type": "text", "text": "more like this"}
    async with probed(browser, at) as shown:
        assert (await shown.frame.evaluate(utter))[0] == "taken"
        await shown.page.evaluate(
            """() => { CARD_ASKS["ui/message"] = async (card, { content }) => {
                if (Array.isArray(content)) throw refused(-32602, "content is one block"); return {}; }; }"""
        )
        assert (await shown.frame.evaluate(utter))[0] == "taken"
        await shown.page.evaluate(
            """() => { CARD_ASKS["ui/message"] = async () => { throw refused(-32000, "denied"); }; }"""
        )
        assert await shown.frame.evaluate(utter) == ["refused", "denied"]
        said = [each["content"] for each in await shown.said("ui/message")]
        assert said == [[block], [block], block, [block]]
    async with probed(browser, at, deaf=True) as shown:
        assert (await shown.frame.evaluate(utter))[0] == "refused"


async def test_the_end_is_answered_and_nothing_is_said_after_it(browser: Browser, at: Origins) -> None:
    async with probed(browser, at) as shown:
        await shown.settled()
        await shown.page.evaluate("""() => { CARD_ASKS["tools/call"] = () => new Promise(() => 0); }""")
        await shown.frame.evaluate("() => { window.over = probe.ask.callTool('say').catch((error) => error.message); }")
        assert await shown.ask("ui/resource-teardown", {"reason": "over"}) == {}
        assert await shown.frame.evaluate("() => window.over") == "The card was closed."
        sizes = len(await shown.said(SIZE))
        await shown.frame.evaluate("() => { document.getElementById('card').style.height = '999px'; }")
        await shown.frame.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        await heard(shown)
        assert len(await shown.said(SIZE)) == sizes
