"""The drawn pages as a port: drawn on a thread of their own, and kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.pages.drawn.page import drawn_page
from tools.store.failures import TimedOut
from tools.store.models import Health, Page, Preview
from tools.store.models.page import MOST_PAGES

KEPT = 300
"""Pages, of 12 KB at most."""


class DrawnPages:
    """A `PagesPort` that has a preview of every volume. Get one from `open`; its thread ends with it."""

    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self._thread = thread
        self._kept: Lru[tuple[str, int, int], Page] = Lru(KEPT)

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[DrawnPages]:
        thread = ThreadPoolExecutor(1, "drawn pages")
        try:
            yield cls(thread)
        finally:
            thread.shutdown(wait=False, cancel_futures=True)

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        """What was drawn before its time was over is kept for the next who asks."""
        try:
            async with asyncio.timeout(deadline.remaining()):
                return Preview(tuple([await self._page(title_id, volume, n) for n in range(1, MOST_PAGES + 1)]))
        except TimeoutError:
            raise TimedOut("The pages were not drawn in time.", dependency="pages") from None

    async def health(self, deadline: Deadline) -> Health:
        return Health(ok=True, detail="drawn in this process")

    async def _page(self, title_id: str, volume: int, number: int) -> Page:
        key = (title_id, volume, number)
        if (page := self._kept.use(key)) is None:
            page = await asyncio.get_running_loop().run_in_executor(self._thread, drawn_page, *key)
            self._kept.put(key, page)
        return page
