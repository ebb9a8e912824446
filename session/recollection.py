"""How a session is written and read back by its owner: the steps, and what Redis's answers to them say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection, by_groups, read_calls, read_shared
from session.keys import SessionKeys
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.scripts import Script

SESSION_TTL_MS = 30 * 60 * 1000
TOTALS = ("calls", "failures", "cache_hits", "latency_ms", "tokens_out")
LARGEST_WHOLE = 16 * 1024
"""Bytes of a packed result that is kept whole: 20 titles with everything are a third of it, and there are five a session."""

Group = tuple[str, int, Mapping[str, str]]
"""A group of `STATE`, since when it is so in ms of Redis's clock, and its fields."""


class Recording:
    """What is written of a session, each in one atomic step."""

    def __init__(self) -> None:
        self._record, self._remember = Script.load("record"), Script.load("remember")

    def step(
        self,
        own: SessionKeys,
        at_ms: int,
        entry: HistoryEntry,
        shown: LastShown | None = None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """`shared` holds what changes of the shared values, "" for what is not known any more; `whole` is the packed result
        behind a shortened one, kept under the entry's `result`; `at_ms` is now, by Redis's clock."""
        groups = by_groups({**(shown.fields if shown else {}), **(shared or {})})
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        kept = b"%s %s" % (entry.result.encode(), whole) if entry.result else b""
        state = state_arguments((name, at_ms, fields) for name, fields in groups.items())
        arguments: list[Argument] = [SESSION_TTL_MS, entry.as_json(), *numbers, kept, *state]
        return Evaluation(self._record, (own.base, own.history, own.results), arguments)

    def late(self, own: SessionKeys, groups: Iterable[Group]) -> Step:
        """What a session is to know of earlier calls."""
        return Evaluation(self._remember, (own.base,), (SESSION_TTL_MS, *state_arguments(groups)))


def state_arguments(groups: Iterable[Group]) -> list[Argument]:
    """As state.lua takes them."""
    arguments: list[Argument] = []
    for name, at_ms, fields in groups:
        arguments += (name, at_ms, len(fields), *(each for pair in fields.items() for each in pair))
    return arguments


def reading(own: SessionKeys) -> list[Step]:
    return [Command(("LRANGE", own.history, 0, MOST_CALLS - 1)), Command(("HGETALL", own.base))]


def read(replies: Sequence[Reply]) -> Recollection:
    """What the answers to `reading` say."""
    history, stored = replies
    fields = dict(zip(stored[::2], stored[1::2], strict=True))
    totals = {name: int(fields.get(name.encode(), 0)) for name in TOTALS}
    return Recollection(read_calls(history), totals, LastShown.read(fields), read_shared(fields))


def whole_of(kept: Sequence[bytes], name: str) -> bytes | None:
    """The packed result of that name among those that a session keeps."""
    begins = name.encode("utf-8", "replace") + b" "
    return next((each.removeprefix(begins) for each in kept if each.startswith(begins)), None)
