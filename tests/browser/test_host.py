"""The host's page does what the specification asks of one: else cards that pass with it would fail elsewhere. With cards made up here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.support.browser.hosting import Host, hosting
from tests.support.browser.looking import Witness
from tests.support.browser.origins import Origins
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser

SECONDS = 30.0
GREETING = """<!doctype html><html lang="en"><title>Card</title><body><p id="text">waiting</p><script>
const text = document.getElementById("text"), post = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
addEventListener("message", ({ data }) => {
  if (data.id === 1) { window.hello = data.result; post({ method: "ui/notifications/initialized" }); %(more)s }
  if (data.method === "ui/notifications/tool-result") text.textContent = data.params.structuredContent.said;
  if (data.method === "ui/resource-teardown") post({ id: data.id, result: {} });
  if (data.id === 2) text.textContent = JSON.stringify(data.result ?? data.error);
});
post({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "c", version: "1" }, appCapabilities: {} } });
</script>"""
CALL = 'post({ id: 2, method: "tools/call", params: { name: "%s", arguments: { a: 1 } } });'


class MadeUp:
    """A server with one tool and its card."""

    def __init__(self, html: str, csp: dict[str, Any] | None = None) -> None:
        self.html, self.csp = html, csp
        self.calls: list[dict[str, Any]] = []

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/list":
            ui = {"resourceUri": "ui://made/up"}
            return {
                "tools": [{"name": "say", "_meta": {"ui": ui}}, {"name": "own", "_meta": {"ui": {"visibility": ["model"]}}}]
            }
        if method == "resources/read":
            page = {"uri": params["uri"], "mimeType": "text/html;profile=mcp-app", "text": self.html}
            return {"contents": [{**page, "_meta": {"ui": {"csp": self.csp or {}}}}]}
        if params["name"] == "broken":
            raise MCPError(-32602, "no tool broken")
        self.calls.append(params)
        return {"content": [], "structuredContent": {"said": f"said {params['arguments']}"}}


@asynccontextmanager
async def shown(browser: Browser, at: Origins, card: MadeUp, **options: Any) -> AsyncIterator[Host]:
    at.backends["made-up"] = card
    async with hosting(browser, at, "made-up", **options) as host:
        yield host


async def test_a_card_gets_its_greeting_then_its_input_then_its_result(browser: Browser, at: Origins) -> None:
    card = MadeUp(GREETING % {"more": ""})
    async with shown(browser, at, card, theme="dark", locale="ja-JP", width=320) as host:
        own = await host.show("say", {"to": "you"})
        await own.frame.wait_for_function("() => text.textContent !== 'waiting'")
        assert await own.text() == "said {'to': 'you'}"
        context = (await own.frame.evaluate("() => window.hello"))["hostContext"]
        assert (context["theme"], context["locale"], context["containerDimensions"]["width"]) == ("dark", "ja-JP", 320)
        assert context["toolInfo"]["tool"]["name"] == "say"
        log = await own.page.evaluate(
            "() => host.card.log.filter((e) => e.from === 'host' && e.method).map((e) => e.method)"
        )
        assert log == [
            "ui/notifications/sandbox-resource-ready",
            "ui/notifications/tool-input",
            "ui/notifications/tool-result",
        ]
        assert await own.ask("ui/resource-teardown", {"reason": "over"}) == {}


async def test_a_card_that_does_not_greet_stays_hidden_and_hears_nothing(browser: Browser, at: Origins) -> None:
    card = MadeUp("<!doctype html><html lang=en><title>Silent</title><p>I say nothing</p>")
    async with shown(browser, at, card) as host:
        own = await host.load("say", {})
        within = own.page.frame_locator("main > iframe").frame_locator("iframe")
        await within.get_by_text("I say nothing").wait_for(state="attached")
        assert not await own.page.locator("main > iframe").is_visible()
        assert await own.state() == "loaded"
        with pytest.raises(Exception, match="before the card is initialized"):
            await own.tell("ui/notifications/tool-input", {})


@pytest.mark.parametrize(
    ("tool", "answered"), [("say", "said {'a': 1}"), ("own", "own is not for cards"), ("broken", "no tool broken")]
)
async def test_a_card_calls_tools_through_its_host(tool: str, answered: str, browser: Browser, at: Origins) -> None:
    card = MadeUp(GREETING % {"more": CALL % tool})
    async with shown(browser, at, card) as host:
        own = await host.show("say", {}, "held")
        await own.frame.wait_for_function("() => text.textContent !== 'waiting'")
        assert answered in await own.text()
    assert len(card.calls) == (1 if tool == "say" else 0)


async def test_calling_where_the_host_calls_no_tools_is_a_fault(browser: Browser, at: Origins) -> None:
    card = MadeUp(GREETING % {"more": CALL % "say"})
    with pytest.raises(AssertionError, match="where the host has said that it calls none"):
        async with shown(browser, at, card) as host:
            own = await host.show("say", {}, "held", capabilities={})
            await own.frame.wait_for_function("() => text.textContent !== 'waiting'")
    assert not card.calls


@pytest.mark.parametrize("more", ["post({ method: 'ui/notifications/made-up' });", "parent.postMessage({ hello: 1 }, '*');"])
async def test_what_the_specification_does_not_know_is_a_fault(more: str, browser: Browser, at: Origins) -> None:
    with pytest.raises(AssertionError, match="not as the specification says"):
        async with shown(browser, at, MadeUp(GREETING % {"more": more})) as host:
            await host.show("say", {})
            await host.page.wait_for_function("() => host.card.faults.length > 0")


async def test_a_card_reaches_neither_its_host_nor_its_sandbox_nor_anybody_else(browser: Browser, at: Origins) -> None:
    """The policy that its resource declared is what stops its requests: nothing leaves the frame, so that nothing is to be aborted."""
    tries = """for (const reach of [() => top.document, () => parent.document, () => localStorage.length, () => document.cookie])
        try { reach(); text.textContent += " reached"; } catch { }
    fetch("http://one.example/a").catch(() => text.textContent += " refused");
    document.body.append(Object.assign(new Image(), { src: "http://one.example/b.png" }));"""
    witness = Witness()
    async with shown(browser, at, MadeUp(GREETING % {"more": tries}), witness=witness) as host:
        own = await host.show("say", {}, "held")
        await own.frame.wait_for_function("() => text.textContent.includes('refused')")
        await until(lambda: len(witness.errors) >= 2, SECONDS, "both were refused")
        assert await own.text() == "waiting refused"
    assert not witness.foreign
    assert all("Content Security Policy" in each for each in witness.errors)


async def test_what_a_resource_declares_is_allowed_and_nothing_more(browser: Browser, at: Origins) -> None:
    """A request to the declared address leaves the frame, and is what the tests then stop."""
    tries = (
        "fetch('http://one.example/a').catch(() => 0); fetch('http://two.example/b').catch(() => text.textContent = 'over');"
    )
    witness = Witness()
    card = MadeUp(GREETING % {"more": tries}, csp={"connectDomains": ["http://one.example"]})
    async with shown(browser, at, card, witness=witness) as host:
        await host.show("say", {}, "held")
        await until(lambda: bool(witness.foreign), SECONDS, "a request")
        await until(lambda: any("two.example" in each for each in witness.errors), SECONDS, "the other refused")
    assert witness.foreign == ["http://one.example/a"]
