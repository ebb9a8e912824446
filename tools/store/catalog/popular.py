"""The most popular titles, kept here and in Redis so that there is something to offer while the catalogue is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from session.failures import MemoryUnavailable
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.periodic import run_periodically
from session.snapshots import Snapshots
from tools.store.catalog.popular_index import PopularIndex
from tools.store.failures import Failure
from tools.store.models import Author, Called, Conditions, Ordering, Title
from tools.store.ports import CatalogPort
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.orderings import in_order
from tools.store.typed_snapshot import TypedSnapshot

logger = logging.getLogger(__name__)

HOW_MANY = 500
REFRESH_SECONDS = 300.0
RETRY_SECONDS = 2.0
ASK_SECONDS = 5.0
SNAPSHOT_SECONDS = 24 * 3600

TitlesSnapshot = TypedSnapshot[tuple[Title, ...]]


def titles_snapshot(snapshots: Snapshots, variant: str = "") -> TitlesSnapshot:
    """`variant` keeps apart what other settings keep."""
    return TypedSnapshot(snapshots, f"popular{variant}", tuple[Title, ...])


@dataclass(slots=True)
class PopularTitles:
    """A snapshot that a task owned by the application refreshes. Empty until the catalogue has answered once, or until what
    another process has left in the `snapshot` was found."""

    catalog: CatalogPort
    snapshot: TitlesSnapshot | None = None
    clock: Clock = time.monotonic
    _index: PopularIndex = field(default_factory=PopularIndex)
    _parser: QueryParser = field(default_factory=QueryParser.load)

    @property
    def title_ids(self) -> tuple[str, ...]:
        """The most popular first."""
        return tuple(self._index.by_id)

    def matching(self, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The most popular titles of the snapshot that satisfy the conditions, exactly."""
        return self._index.matching(conditions, limit)

    def ordered(self, conditions: Conditions, ordering: Ordering | None, limit: int) -> tuple[Title, ...]:
        """The same in another order, where one is asked for."""
        if ordering is None or ordering is Ordering.POPULARITY:
            return self.matching(conditions, limit)
        return in_order(self.matching(conditions, HOW_MANY), ordering)[:limit]

    def called(self, query: str, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """Those of them that the query names, or whose author it names, best match first."""
        return self._index.called(query, self._parser, conditions, limit)

    def exactly(self, names: Sequence[str]) -> dict[str, Called]:
        """What goes by each of the names among them, for when the catalogue does not say."""
        return self._index.at_hand.find(names)

    def titles_beginning(self, typed: str, limit: int) -> list[Title]:
        """Those of which a name begins so, the most popular first."""
        return self._index.titles_beginning.of(typed, limit)

    def ids_beginning(self, typed: str, limit: int) -> list[Title]:
        """Those whose id begins so."""
        return [self._index.by_id[each] for each in self._index.by_id if typed and each.startswith(typed)][:limit]

    def authors_beginning(self, typed: str, limit: int) -> list[Author]:
        """Their authors whose name begins so, those of the most popular titles first."""
        return self._index.authors_beginning.of(typed, limit)

    def known(self, title_id: str) -> Title | None:
        return self._index.by_id.get(title_id)

    async def refresh(self) -> bool:
        """Whether the catalogue answered."""
        try:
            titles = await self.catalog.popular(Conditions(), HOW_MANY, Deadline.after(ASK_SECONDS, self.clock))
        except Failure as failure:
            logger.debug("popular titles not refreshed: %s", failure.name)
            return False
        if titles:  # a catalogue that is being filled takes away nothing that is known
            await self._take(titles)
            if self.snapshot is not None:
                await self.snapshot.save(titles, SNAPSHOT_SECONDS)
        return True

    async def recall(self) -> bool:
        """Whether a snapshot was found to begin with."""
        try:
            titles = await self.snapshot.load() if self.snapshot is not None else None
        except MemoryUnavailable:
            return False
        if titles and not self._index.titles:
            await self._take(titles[:HOW_MANY])
        return bool(titles)

    async def keep_warm(self) -> None:
        """Runs until cancelled."""
        await run_periodically("popular titles", self._round)

    async def _round(self) -> float:
        if not self._index.titles:
            await self.recall()
        return REFRESH_SECONDS if await self.refresh() else RETRY_SECONDS

    async def _take(self, titles: tuple[Title, ...]) -> None:
        """Made beside the event loop: it takes a quarter of a second."""
        self._index = await asyncio.to_thread(PopularIndex, titles)
