"""Where titles for adults alone may appear (`tools.store.audience` says which these are).

`on-request`: where the customer asks for them, by name or by word; `off`: nowhere, as if the store did not have them; `on`:
like any other. The first is a condition of each search, which `tools.conditions` states. The second is kept here, at the
doors of the store: nothing behind them need know of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.audience import audience_of
from tools.store.catalog.reader import TitleReader
from tools.store.failures import BackendFailure
from tools.store.models import (
    Audience,
    AvailabilityPage,
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
from tools.store.ports import CatalogPort, StockPort, TitlesPort

CAPACITY = 50_000
"""Titles of which is remembered whether they are for adults, so that stock need not ask again."""


class Adult(StrEnum):
    """MANGA_ADULT."""

    ON_REQUEST = "on-request"
    OFF = "off"
    ON = "on"


def is_adult(title: Title) -> bool:
    """Whether it is known to be for adults alone."""
    return audience_of(title) is Audience.ADULT


def without_adult(titles: Sequence[Title]) -> tuple[Title, ...]:
    return tuple(title for title in titles if not is_adult(title))


@dataclass(frozen=True, slots=True)
class CatalogWithoutAdult:
    """A catalogue that has no title for adults alone."""

    port: CatalogPort

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        asked = replace(query, conditions=replace(query.conditions, no_adult=True))
        page = await self.port.search(asked, deadline)
        return replace(page, near=without_adult(page.near))

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return _fit(await self.port.get(title_ids, deadline))

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.popular(replace(conditions, no_adult=True), limit, deadline)

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.for_reader(replace(query, conditions=replace(query.conditions, no_adult=True)), deadline)

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        found = await self.port.nearest(text, limit, deadline)
        return None if found is None else tuple(each for each in found if not is_adult(each.title))

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self.port.terms(deadline)

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        """Ids alone, which nothing can be read by here."""
        return await self.port.called(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)


@dataclass(frozen=True, slots=True)
class TitlesWithoutAdult:
    """The store's records without those of titles for adults alone."""

    port: TitlesPort

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return _fit(await self.port.get(title_ids, deadline))

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)


def _fit(titles: dict[str, Title]) -> dict[str, Title]:
    return {title_id: title for title_id, title in titles.items() if not is_adult(title)}


class StockWithoutAdult:
    """Stock knows titles by id alone: what each is is read besides, once, from the catalogue or the records (`titles`, which
    leave out nothing). What cannot be told stays unanswered: better no stock than the stock of what is not to be had."""

    def __init__(self, port: StockPort, titles: TitleReader, capacity: int = CAPACITY) -> None:
        self._port, self._titles = port, titles
        self._adult: Lru[str, bool] = Lru(capacity)

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        adult = await self._which_are_adult(title_ids, deadline)
        fit = [title_id for title_id in title_ids if adult.get(title_id) is False]
        page = await self._port.availability(fit, deadline) if fit else AvailabilityPage({})
        untold = tuple(title_id for title_id in title_ids if title_id not in adult)
        return replace(page, unanswered=(*page.unanswered, *untold))

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)

    async def _which_are_adult(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, bool]:
        """Those that it can be told of. What the catalogue does not know is for adults no more than for anybody; that is not
        remembered, since it may be added."""
        told = {title_id: adult for title_id in title_ids if (adult := self._adult.use(title_id)) is not None}
        missing = [title_id for title_id in title_ids if title_id not in told]
        if not missing:
            return told
        try:
            reading = await self._titles.read(missing, deadline)
        except BackendFailure:
            return told
        for title_id, title in reading.titles.items():
            self._adult.put(title_id, is_adult(title))
            told[title_id] = is_adult(title)
        return told if reading.from_records else dict.fromkeys(missing, False) | told
