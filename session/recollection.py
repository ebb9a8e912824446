"""How a session is written and read back by its owner: the steps, and what Redis's answers to them say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection, read_calls, read_shared
from session.keys import SessionKeys
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.scripts import Script

SESSION_TTL_MS = 30 * 60 * 1000
TOTALS = ("calls", "failures", "cache_hits", "latency_ms", "tokens_out")
LARGEST_WHOLE = 16 * 1024
"""Bytes of a packed result that is kept whole: 20 titles with everything are a third of it, and there are five a session."""


class Recording:
    """The end of a call, in one atomic step."""

    def __init__(self) -> None:
        self._record = Script.load("record")

    def step(
        self,
        own: SessionKeys,
        entry: HistoryEntry,
        shown: LastShown | None = None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """`shared` holds what changes of the shared values, "" for what is not known any more; `whole` is the packed result
        behind a shortened one, kept under the entry's `result`."""
        fields = {**(shown.fields if shown else {}), **(shared or {})}
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        kept = b"%s %s" % (entry.result.encode(), whole) if entry.result else b""
        arguments: list[Argument] = [SESSION_TTL_MS, entry.as_json(), *numbers, kept]
        for field in fields.items():
            arguments += field
        return Evaluation(self._record, (own.base, own.history, own.results), arguments)


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
