"""The most popular titles, kept in the process so that there is something to offer while the catalogue is away."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from session.deadline import Deadline
from tools.failures import Failure
from tools.models import Filters, Title
from tools.ports import CatalogPort
from tools.search.filters import satisfies

logger = logging.getLogger(__name__)

HOW_MANY = 500
REFRESH_SECONDS = 300.0
RETRY_SECONDS = 2.0
ASK_SECONDS = 5.0


@dataclass(slots=True)
class PopularTitles:
    """A snapshot that a task owned by the application refreshes. Empty until the catalogue answered once."""

    catalog: CatalogPort
    _titles: tuple[Title, ...] = field(default=())

    def matching(self, filters: Filters, limit: int) -> tuple[Title, ...]:
        """The most popular titles of the snapshot that satisfy the filters, exactly."""
        return tuple([title for title in self._titles if satisfies(title, filters)][:limit])

    def known(self, title_id: str) -> Title | None:
        return next((title for title in self._titles if title.title_id == title_id), None)

    async def refresh(self) -> bool:
        """Whether the catalogue answered."""
        try:
            self._titles = await self.catalog.popular(Filters(), HOW_MANY, Deadline.after(ASK_SECONDS))
        except Failure as failure:
            logger.info("popular titles not refreshed: %s", failure.name)
            return False
        return True

    async def keep_warm(self) -> None:
        """Runs until cancelled."""
        while True:  # noqa: ASYNC110 - a clock is what it waits for
            await asyncio.sleep(REFRESH_SECONDS if await self.refresh() else RETRY_SECONDS)
