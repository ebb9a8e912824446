"""This process's copy of the conversations' state, used while Redis is away, or if Redis loses state within a turn.

The later of two writes wins, by Redis's clock. State that Redis has missed is written with the conversation's next call, or
as soon as Redis answers again."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from sys import getsizeof

from session.begin import BeginRequest, BeginResult
from session.history import STATE, LastShown, by_groups, read_shared
from session.resilience.clocks import Clock
from session.resilience.lru import Lru

CAPACITY = 5_000
MOST_BYTES = 8 * 2**20
"""Most bytes of all conversations (a search adds 1.5 to 4 KB), and of all result sets (a hundred bytes a title)."""
BESIDE_BYTES = 1_000
"""Estimated bytes of an entry in addition to its texts: the request, its turn, keys."""
SECONDS = 30 * 60.0


@dataclass(slots=True)
class StateWrite:
    """Fields of one group (a key of `STATE`, or a tool's own field) as the call of `request` set them, or read them from
    Redis. Times are in monotonic seconds; `written_at` is None until Redis has the fields."""

    group: str
    fields: Mapping[str, str]
    request: BeginRequest
    made_at: float
    written_at: float | None = None


class RecentState:
    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self.writes: Lru[tuple[str, str | None], dict[str, StateWrite]] = Lru(CAPACITY, MOST_BYTES, _size_of_groups)
        self._sets: Lru[str, tuple[str, ...]] = Lru(CAPACITY, MOST_BYTES, _size_of_texts)

    def keep(self, request: BeginRequest, last: LastShown | None, shared: Mapping[str, str]) -> list[StateWrite]:
        """Keeps the titles that a call shows, and its changes to shared values, as not yet written to Redis. Returns these
        writes, for `mark_written`; none without a session."""
        groups = by_groups({**(last.fields if last else {}), **shared})
        return [self._put(request, group, fields) for group, fields in groups.items() if request.session is not None]

    def keep_set(self, key: str, title_ids: tuple[str, ...]) -> None:
        self._sets.put(key, title_ids)

    def mark_written(self, left: Iterable[StateWrite]) -> None:
        for each in left:
            each.written_at = self._clock()

    def list_unwritten(self, session: str | None, user: str | None) -> list[StateWrite]:
        known = self.writes.peek((session, user)) if session is not None else None
        return [each for each in (known or {}).values() if each.written_at is None and self._is_fresh(each)]

    def list_owners_behind(self) -> list[tuple[str, str | None]]:
        return [owner for owner in self.writes if self.list_unwritten(*owner)]

    def forget(self, session: str, user: str | None) -> None:
        self.writes.pop((session, user))

    def fill(self, request: BeginRequest, begun: BeginResult, asked_at: float = math.inf) -> BeginResult:
        """Returns `begun`, completed with this process's recent state where Redis returned none. This is state of the
        present turn or, if Redis failed, of any turn, but none from before a session's removal. Also keeps a copy of the
        state that Redis returned. `asked_at`: when Redis was asked, in monotonic seconds. `lost_by_redis` becomes True if
        Redis answered without state that it had at that time."""
        if request.result_set is not None and begun.result_set is None:
            begun = replace(begun, result_set=self._sets.use(request.result_set))
        if request.session is None or begun.retry_after_ms:
            return begun
        known = self.writes.use((request.session, request.user)) or {}
        said, own, forgotten = dict(begun.stored_fields), dict[bytes, bytes | None](), False
        for group, names in {**STATE, **{name: (name,) for name in request.own_fields}}.items():
            left = known.get(group)
            if said.get(names[0].encode()) is not None:
                fields = {name: value.decode() for name in names if (value := said.get(name.encode())) is not None}
                if left is None or (left.written_at is not None and not fields.items() <= left.fields.items()):
                    self.mark_written([self._put(request, group, fields)])
            elif (
                left is not None
                and self._is_fresh(left)
                and not is_over(left, begun, asked_at)
                and (begun.degraded or left.request.turn.key == request.turn.key)
            ):
                # A conversation that Redis has lost ends, but not within a turn: there this process's state is used.
                own |= {name.encode(): value.encode() for name, value in left.fields.items()}
                forgotten |= left.written_at is not None and left.written_at < asked_at
        if not own:
            return begun
        said |= own
        return replace(
            begun, last=LastShown.read(said), shared=read_shared(said), lost_by_redis=forgotten and not begun.degraded
        )

    def _put(self, request: BeginRequest, group: str, fields: Mapping[str, str]) -> StateWrite:
        assert request.session is not None
        owner = request.session, request.user
        left = StateWrite(group, fields, request, self._clock())
        self.writes.put(owner, {**(self.writes.peek(owner) or {}), group: left})
        return left

    def _is_fresh(self, left: StateWrite) -> bool:
        return self._clock() - left.made_at <= SECONDS


def is_over(left: StateWrite, begun: BeginResult, asked_at: float) -> bool:
    """Returns True if a process removed the session after this write. `asked_at`: monotonic seconds when Redis was asked."""
    ended, clock_ms = begun.stored_fields.get(b"ended"), begun.clock_ms
    return ended is not None and clock_ms is not None and clock_ms - (asked_at - left.made_at) * 1000 < int(ended)


def _size_of_groups(groups: Mapping[str, StateWrite]) -> int:
    return sum(_size_of_texts(left.fields.values()) for left in groups.values())


def _size_of_texts(texts: Iterable[str]) -> int:
    return BESIDE_BYTES + sum(map(getsizeof, texts))
