"""One session of one user, to be read by its owner."""

from __future__ import annotations

from dataclasses import dataclass, replace

from session.failures import MemoryUnavailable
from session.history import LastShown, Recollection
from session.memory import SessionMemory
from session.snapshots import unpack


@dataclass(frozen=True, slots=True)
class Conversation:
    """`last` is what this call knows of what was shown last: `alone`, where Redis did not say so."""

    memory: SessionMemory
    session: str
    user: str | None
    last: LastShown | None = None
    alone: bool = False

    async def recall(self) -> Recollection:
        """What Redis knows; without it what is known of what was shown last, and that this is not all."""
        try:
            past = await self.memory.recall(self.session, self.user)
        except MemoryUnavailable:
            return Recollection(last_shown=self.last, known=False)
        return replace(past, last_shown=self._latest(past.last_shown))

    def _latest(self, stored: LastShown | None) -> LastShown | None:
        """What Redis did not say at the call's beginning, this process may know; the names are in Redis."""
        known = self.last if self.alone else None
        return known if known and (stored is None or known.title_ids != stored.title_ids) else stored

    async def whole_result(self, name: str) -> bytes | None:
        """The JSON of a result that was kept under this name. Raises `MemoryUnavailable`."""
        packed = await self.memory.whole(self.session, self.user, name)
        return None if packed is None else unpack(packed)
