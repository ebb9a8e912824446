"""How titles are called, for answers that know them by id alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.catalog.reader import TitleReader
from tools.store.failures import BackendFailure

CAPACITY = 20_000
NATIVE = 4_000
"""Names in Japanese, which only some clients are told of."""


class TitleNames:
    """The names of titles that were shown or asked for last. A name hardly ever changes, and what is shown is named anew."""

    def __init__(self, capacity: int = CAPACITY, native: int = NATIVE) -> None:
        self._names: Lru[str, str] = Lru(capacity)
        self._native: Lru[str, str] = Lru(native)

    def note(self, names: Iterable[tuple[str, str]]) -> None:
        for title_id, name in names:
            self._names.put(title_id, name)

    def known(self, title_ids: Iterable[str]) -> dict[str, str]:
        return {title_id: name for title_id in title_ids if (name := self._names.use(title_id)) is not None}

    def note_native(self, names: Iterable[tuple[str, str | None]]) -> None:
        """Takes note of names in Japanese, of the titles that have one."""
        for title_id, name in names:
            if name:
                self._native.put(title_id, name)

    def native(self, title_ids: Iterable[str]) -> dict[str, str]:
        """The names in Japanese of those that were shown or asked for lately."""
        return {title_id: name for title_id in title_ids if (name := self._native.use(title_id)) is not None}

    async def of(self, title_ids: Sequence[str], titles: TitleReader, deadline: Deadline) -> Mapping[str, str]:
        """Their names, asking for those that are not known, by the store's records where the catalogue is away. What does
        not come in time is missing: nobody waits for a name longer than that, and no answer fails for want of one."""
        missing = [title_id for title_id in title_ids if title_id not in self._names]
        if missing and not deadline.expired():
            try:
                found = (await titles.read(missing, deadline)).titles
            except BackendFailure:
                found = {}
            self.note((title_id, title.display) for title_id, title in found.items())
            self.note_native((title_id, title.ja) for title_id, title in found.items())
        return self.known(title_ids)
