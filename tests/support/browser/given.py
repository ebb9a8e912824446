"""A server for a host's page that has the real cards and answers what a test knows beforehand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.support.browser.hosting import Shown, hosting
from tests.support.browser.origins import Origins
from tests.support.browser.results import BERSERK, ORDER, STOCK, Json, answered
from tools.cards.extension import CARDS, page

if TYPE_CHECKING:
    from playwright.async_api import Browser

MIME_TYPE = "text/html;profile=mcp-app"
OTHER: Json = BERSERK | {"title_id": "manga-003006", "title": "Nana", "title_ja": "NANA"}
ANSWERS: dict[str, Json] = {
    "check_inventory": answered({"items": [STOCK]}),
    "get_recommendations": answered({"recommendations": [OTHER, BERSERK]}),
    "lookup_order": answered(ORDER),
}


class Given:
    """Every card there is, whatever flags and settings say. `hosts` are those of pictures of covers."""

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        self.hosts = hosts

    async def answer(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            ui = [(tool, card.uri) for card in CARDS for tool in card.tools]
            return {"tools": [{"name": tool, "_meta": {"ui": {"resourceUri": uri}}} for tool, uri in ui]}
        if method == "resources/read":
            html = next(page(card, hosts=self.hosts) for card in CARDS if card.uri == params["uri"])
            meta = {"ui": {"csp": {"resourceDomains": [f"https://{host}" for host in self.hosts]}}}
            return {"contents": [{"uri": params["uri"], "mimeType": MIME_TYPE, "text": html, "_meta": meta}]}
        return ANSWERS[params["name"]]


@asynccontextmanager
async def drawn(
    browser: Browser,
    at: Origins,
    tool: str,
    result: Json,
    context: Json | None = None,
    hosts: Sequence[str] = (),
    **options: Any,
) -> AsyncIterator[Shown]:
    """The card of a tool with this result. `context` is what its host says besides, `hosts` those of pictures of covers;
    `options` are those of `hosting`."""
    at.backends["given"] = Given(hosts)
    async with hosting(browser, at, "given", **options) as host:
        card = await host.show(tool, {}, result, context=context or {})
        yield await card.drawn()
