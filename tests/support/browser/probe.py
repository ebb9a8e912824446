"""A card that writes down what its bridge tells it, in the host's page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from mcp.shared.exceptions import MCPError

from tests.support.browser.hosting import Shown, hosting
from tests.support.browser.origins import Origins
from tools.cards import extension
from tools.cards.extension import Card, page, read_file

if TYPE_CHECKING:
    from playwright.async_api import Browser

PROBE = """
window.told = [];
window.probe = { ask, context };
const note = (what) => { told.push(what); document.getElementById("card").textContent = JSON.stringify(told.at(-1)); };
card({
  render: (result, { locale }) => {
    if (result.structuredContent.fails) throw new Error("it fails");
    note({ result: result.structuredContent, locale });
  },
  input: (args) => note({ input: args }),
  cancelled: (reason) => note({ cancelled: reason }),
});
"""
OWN = {"probe.html": '<main id="card"></main>', "probe.css": "body { margin: 0 }", "probe.js": PROBE}
with patch.object(extension, "read_file", lambda name: OWN.get(name) or read_file(name)):
    HTML = page(Card("probe", "Probe", "Tells what it was told", ()))
RESULT = "ui/notifications/tool-result"
SIZE = "ui/notifications/size-changed"
CHANGED = "ui/notifications/host-context-changed"


class Probed:
    """A server with one tool, whose card is the probe."""

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/list":
            return {"tools": [{"name": "say", "_meta": {"ui": {"resourceUri": "ui://made/probe"}}}]}
        if method == "resources/read":
            return {"contents": [{"uri": params["uri"], "mimeType": "text/html;profile=mcp-app", "text": HTML}]}
        if params["name"] != "say":
            raise MCPError(-32602, "no such tool")
        return {"content": [{"type": "text", "text": '{"said": 1}'}]}


@asynccontextmanager
async def probed(browser: Browser, at: Origins, **options: Any) -> AsyncIterator[Shown]:
    """The probe, greeted and without a result."""
    at.backends["probe"] = Probed()
    async with hosting(browser, at, "probe") as host:
        shown = await host.show("say", {"to": "you"}, "held", **options)
        await shown.frame.wait_for_function("() => told.length === 2")
        yield shown


async def heard(shown: Shown) -> list[dict[str, Any]]:
    """What the probe was told, once all that was posted before has arrived."""
    assert await shown.ask("ping", {}) == {}
    return list(await shown.frame.evaluate("() => told"))
