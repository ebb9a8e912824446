"""The operator's page in the browser, over a server that plays what it is to hear."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.browser.looking import looking
from tests.support.operators_page import states
from tests.support.operators_page.playing import Event, Playing, playing
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Shown:
    """The page, and the server that it listens to."""

    page: Page
    server: Playing

    async def text(self, selector: str) -> str:
        return (await self.page.locator(selector).first.inner_text()).strip()

    async def count(self, selector: str) -> int:
        return await self.page.locator(selector).count()

    async def reads(self, selector: str, words: str) -> None:
        """Waits until an element has these words in its text."""
        await self.page.locator(selector).filter(has_text=words).first.wait_for(state="attached")

    async def holds(self, expression: str) -> None:
        """Waits until this is so in the page. (Playwright's own wait evaluates text there, which the page's policy forbids.)"""

        async def so() -> bool:
            return bool(await self.page.evaluate(expression))

        await until(so, SECONDS, expression)

    async def counts(self, selector: str, number: int) -> None:
        """Waits until there are so many of them."""

        async def holds() -> bool:
            return await self.count(selector) == number

        await until(holds, SECONDS, f"{number} of {selector}")


@asynccontextmanager
async def shown(browser: Browser, events: list[Event], **options: Any) -> AsyncIterator[Shown]:
    """The page when it has read the last of the events and shows it."""
    async with playing(events) as server, looking(browser, server.url, **({"width": 1280, "height": 720} | options)) as page:
        await page.goto(f"{server.url}/ops")
        own = Shown(page, server)
        if any(name == "state" for name, _ in events):
            await page.locator("#asof:not(:empty)").wait_for(state="attached")
        turns = {data["turn"] for name, data in events if name == "call"}
        if turns:
            await own.counts(".turn", min(40, len(turns)))
            await own.holds("turnList.arrived === turnList.seen && !page.dirty")
        yield own


def quiet_evening() -> list[Event]:
    """A page that is open, on a server that nobody asks anything."""
    return [("hello", states.hello()), ("state", states.calm())]
