"""The store's own record of each title, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from session.resilience.deadline import Deadline
from tools.store.failures import TimedOut
from tools.store.models import Health, Title


class EmbeddedTitles:
    """`tools.store.ports.TitlesPort` over titles that are in memory anyway, or were read of the catalogue's file for it."""

    def __init__(self, titles: Iterable[Title]) -> None:
        self._titles = {title.title_id: title for title in titles}

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        if deadline.expired():
            raise TimedOut("The titles did not answer in time.", dependency="titles")
        return {title_id: self._titles[title_id] for title_id in title_ids if title_id in self._titles}

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")
