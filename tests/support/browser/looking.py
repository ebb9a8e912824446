"""A page to look at. It may ask nobody but the servers that its test names: every other request is stopped, and fails the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Route, WebSocketRoute

WAIT_MS = 30_000
"""For something to happen at all."""


@dataclass
class Witness:
    """What happened in a context that must not: requests to others, dialogs, uncaught errors, what a policy of the page refused."""

    foreign: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def nothing(self) -> None:
        """Fails when there is something."""
        assert not self.foreign, f"asked somebody else: {self.foreign}"
        assert not self.dialogs, f"opened a dialog: {self.dialogs}"
        assert not self.errors, f"went wrong in the page: {self.errors}"

    async def watch(self, context: BrowserContext, own: tuple[str, ...]) -> None:
        async def request(route: Route) -> None:
            url = route.request.url
            if url.startswith(own):
                await route.continue_()
            else:
                self.foreign.append(url)
                await route.abort()

        def socket(route: WebSocketRoute) -> None:
            self.foreign.append(route.url)

        def console(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.errors.append(message.text)

        await context.route("**/*", request)
        await context.route_web_socket("**/*", socket)
        context.on("console", console)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("page", self._page)

    def _page(self, page: Page) -> None:
        async def dismiss(dialog: Any) -> None:
            self.dialogs.append(dialog.message)
            await dialog.dismiss()

        page.on("dialog", dismiss)


@asynccontextmanager
async def looking(
    browser: Browser,
    *own: str,
    width: int = 800,
    height: int = 600,
    theme: Literal["light", "dark"] = "light",
    locale: str = "en-US",
    witness: Witness | None = None,
    **options: Any,
) -> AsyncIterator[Page]:
    """A page of a context of its own, always in Japan's time and one device pixel to a CSS pixel.

    `own` are the addresses that it may ask (`http://127.0.0.1:8080`). `options` are Playwright's of a new context
    (`reduced_motion`, `forced_colors`, `http_credentials`, ...). With a `witness` given its test asks what happened; without
    one nothing that a `Witness` notes may happen.
    """
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1,
        color_scheme=theme,
        locale=locale,
        timezone_id="Asia/Tokyo",
        service_workers="block",
        **{"reduced_motion": "reduce", **options},
    )
    context.set_default_timeout(WAIT_MS)
    seen = witness or Witness()
    try:
        await seen.watch(context, tuple(f"{each.rstrip('/')}/" for each in own))
        yield await context.new_page()
        if witness is None:
            seen.nothing()
    finally:
        await context.close()


async def picture(of: Page | Locator, **options: Any) -> bytes:
    """A PNG of it at rest: animations at their end, no caret, every font there."""
    page = of if not hasattr(of, "page") else of.page
    for frame in page.frames:
        await frame.evaluate("async () => { await document.fonts.ready }")
    return await of.screenshot(animations="disabled", caret="hide", scale="css", **options)
