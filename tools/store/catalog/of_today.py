"""A catalogue whose prices are those of the day in Japan: a campaign that is over makes nothing cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from session.resilience.clocks import Now
from session.resilience.deadline import Deadline
from tools.store.japan import day_in_japan
from tools.store.models import (
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    Neighbour,
    ReaderQuery,
    Title,
)
from tools.store.ports import CatalogPort


@dataclass(frozen=True, slots=True)
class CatalogOfToday:
    """Says in every condition which day it is, by the wall clock `now`."""

    port: CatalogPort
    now: Now

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        return await self.port.search(replace(query, conditions=self._today(query.conditions)), deadline)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self.port.get(title_ids, deadline)

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.popular(self._today(conditions), limit, deadline)

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.for_reader(replace(query, conditions=self._today(query.conditions)), deadline)

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        return await self.port.nearest(text, limit, deadline)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self.port.terms(deadline)

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        return await self.port.called(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)

    def _today(self, conditions: Conditions) -> Conditions:
        return replace(conditions, day=day_in_japan(self.now()).isoformat())
