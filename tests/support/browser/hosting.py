"""A host's page, and the card that it shows, as a test drives them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tests.support.browser.host_backend import Json
from tests.support.browser.looking import looking, picture
from tests.support.browser.origins import Origins
from tests.support.process import until

if TYPE_CHECKING:
    from playwright.async_api import Browser, Frame, Page

TALLEST = 6000
SECONDS = 30.0
CAPABILITIES: Json = {"serverTools": {}, "serverResources": {}, "openLinks": {}, "logging": {}, "message": {"text": {}}}
Result = Json | Literal["call", "held"]


@dataclass
class Host:
    """Shows one card after another. `theme`, `locale` and `width` are what it tells them."""

    page: Page
    theme: str
    locale: str
    width: int

    async def show(self, tool: str, arguments: Json, result: Result = "call", **options: Any) -> Shown:
        """Has the tool called and its card shown, up to where the result was handed over.

        `result` may be given, or "held" until `Shown.release`. `options`: `capabilities` of the host, further `context`, `deaf`
        for a host that refuses messages, another `width`, `sandbox` for other rights of the frame than to run scripts."""
        await self.page.evaluate("options => host.show(options)", self._options(tool, arguments, result, options))
        return Shown(self.page)

    async def load(self, tool: str, arguments: Json, **options: Any) -> Shown:
        """The same, without waiting for anything: for cards that never greet their host."""
        await self.page.evaluate(
            "options => { host.show(options).catch(() => 0) }", self._options(tool, arguments, "held", options)
        )
        await self.page.wait_for_function("() => host.card?.state === 'loaded'")
        return Shown(self.page)

    def _options(self, tool: str, arguments: Json, result: Result, options: Json) -> Json:
        width = options.pop("width", self.width)
        context = {
            "theme": self.theme,
            "locale": self.locale,
            "timeZone": "Asia/Tokyo",
            "displayMode": "inline",
            "availableDisplayModes": ["inline"],
            "containerDimensions": {"width": width, "maxHeight": TALLEST},
            "platform": "web",
            **options.pop("context", {}),
        }
        known = {"tool": tool, "arguments": arguments, "result": result, "width": width, "maxHeight": TALLEST}
        return {"capabilities": CAPABILITIES, **known, **options, "context": context}


@dataclass
class Shown:
    page: Page

    @property
    def frame(self) -> Frame:
        """The innermost: the card itself."""
        return next(
            each for each in self.page.frames if each.parent_frame is not None and each.parent_frame.parent_frame is not None
        )

    async def drawn(self, state: str = "ready") -> Shown:
        """Waits until the card says that it is in that state, and has the room in its host that it asked for."""
        await self.frame.wait_for_function("state => document.documentElement.dataset.state === state", arg=state)
        await self.settled()
        return self

    async def settled(self) -> None:
        """Until nothing is to be drawn any more, and the frame is as high as the card."""
        await self.frame.evaluate(
            """async () => {
                const frames = (n) => new Promise((done) => (n ? requestAnimationFrame(() => frames(n - 1).then(done)) : done()));
                await document.fonts.ready;
                await Promise.all([...document.images].map((each) => each.decode().catch(() => 0)));
                for (let before = -1, now = 0; before !== now; now = document.documentElement.getBoundingClientRect().height) {
                    before = now;
                    await frames(2);
                }
            }"""
        )
        await until(self._has_room, SECONDS, "as much room as the card is high")

    async def _has_room(self) -> bool:
        """Both are looked at each time: what the card is waiting for may come meanwhile."""
        height = await self.frame.evaluate("() => Math.ceil(document.documentElement.getBoundingClientRect().height)")
        given = await self.page.evaluate("() => Math.round(host.card.frame.getBoundingClientRect().height)")
        return bool(given == min(height, TALLEST))

    async def redrawn(self, result: Json, locale: str) -> Shown:
        """The same card, once it has drawn a further result of its host, in this language. Fails when it could not."""
        await self.tell("ui/notifications/host-context-changed", {"locale": locale})
        await self.release(result)
        assert await self.ask("ping", {}) == {}, "which it answers after what it was told before"
        assert not (faults := await self.faults()), f"not as the specification says: {faults}"
        return await self.drawn()

    async def picture(self) -> bytes:
        return await picture(self.page.locator("main > iframe"))

    async def text(self) -> str:
        """What a person reads."""
        return await self.frame.evaluate("() => document.body.innerText")

    async def state(self) -> str:
        """Of the frame: made, ready, loaded, greeted, initialized, gone."""
        return await self.page.evaluate("() => host.card.state")

    async def said(self, method: str) -> list[Json]:
        """The parameters of each request and notification of the card by that method."""
        log = await self.page.evaluate("() => JSON.stringify(host.card.log)")
        return [
            each.get("params", {}) for each in json.loads(log) if each["from"] == "card" and each.get("method") == method
        ]

    async def hears(self, method: str, count: int = 1) -> list[Json]:
        """Waits until the card has said something `count` times."""
        await self.page.wait_for_function(
            "([method, count]) => host.card.log.filter((e) => e.from === 'card' && e.method === method).length >= count",
            arg=[method, count],
        )
        return await self.said(method)

    async def faults(self) -> list[str]:
        """What the card did that the specification does not allow, or a fault of its own that it told its host."""
        return await self.page.evaluate("() => host.card.faults")

    async def tell(self, method: str, params: Json) -> None:
        await self.page.evaluate("([method, params]) => host.tell(method, params)", [method, params])

    async def ask(self, method: str, params: Json) -> Json:
        return await self.page.evaluate("([method, params]) => host.ask(method, params)", [method, params])

    async def release(self, result: Json) -> None:
        await self.page.evaluate("result => host.release(result)", result)


@asynccontextmanager
async def hosting(
    browser: Browser,
    at: Origins,
    backend: str,
    *,
    theme: Literal["light", "dark"] = "light",
    locale: str = "en-US",
    width: int = 800,
    **options: Any,
) -> AsyncIterator[Host]:
    """A page of the host, for one test. `options` are those of `looking`."""
    async with looking(browser, at.host, at.sandbox, width=max(width, 320), theme=theme, locale=locale, **options) as page:
        await page.goto(f"{at.host}/host.html?sandbox={at.sandbox}&backend={backend}")
        yield Host(page, theme, locale, width)
        if await page.evaluate("() => host.card !== null"):
            assert not (faults := await Shown(page).faults()), f"not as the specification says: {faults}"
