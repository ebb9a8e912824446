"""Debian's Chromium, driven by Playwright's package: the same fonts, colours and sizes on every machine, and no way out of it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

FONTS = Path(__file__).with_name("fonts.conf")
FONT_FILES = {
    "fonts-ipafont-gothic": Path("/usr/share/fonts/opentype/ipafont-gothic/ipag.ttf"),
    "fonts-dejavu-core": Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
}
"""By Debian's package."""
START_MS = 60_000
# Frames that are sandboxed stay in the process of their page: what one asks in its first moment would else pass by the test.
QUIET = (
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-features=IsolateSandboxedIframes",
)
SAME_EVERYWHERE = ("--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb", "--hide-scrollbars")
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


def problem() -> str | None:
    """What is missing; None when there is nothing."""
    if importlib.util.find_spec("playwright") is None:
        return "the package playwright is not installed"
    if shutil.which("chromium") is None:
        return "no chromium on the PATH; on Debian: apt-get install chromium"
    return next((f"no fonts of {name}" for name, path in FONT_FILES.items() if not path.is_file()), None)


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """One browser. Its contexts share nothing with each other."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=[*QUIET, *SAME_EVERYWHERE, NOWHERE],
            env={**os.environ, "FONTCONFIG_FILE": str(FONTS)},
            timeout=START_MS,
        )
        try:
            yield browser
        finally:
            await browser.close()
