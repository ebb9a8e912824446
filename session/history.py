"""What is remembered of calls and of what they showed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SEARCH, RECOMMENDATIONS = "search", "recommendations"
NOTHING = "-"
"""Stands for the ids where none were found, which is not the same as nothing having been shown."""


def read_ids(stored: bytes | None) -> tuple[str, ...] | None:
    """The ids of titles as they are stored, with a space between them; None where there are none stored."""
    return tuple(stored.decode().removeprefix(NOTHING).split()) if stored else None


@dataclass(frozen=True, slots=True)
class LastShown:
    """The titles that a conversation was shown last, what for, and `by` what: SEARCH or RECOMMENDATIONS. `titles` are their
    names, where they were asked for."""

    title_ids: tuple[str, ...]
    titles: tuple[str, ...]
    query: str
    by: str = SEARCH

    @classmethod
    def read(cls, fields: Mapping[bytes, bytes | None]) -> LastShown | None:
        """None where nothing was shown. A record of before there were recommendations in it has no `by`."""
        ids = read_ids(fields.get(b"ids"))
        if ids is None:
            return None
        titles = json.loads(fields.get(b"titles") or b"[]")
        by = fields.get(b"by") or SEARCH.encode()
        return cls(ids, tuple(titles), (fields.get(b"query") or b"").decode(), by.decode())


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One call as a session remembers it; `arguments` are those a tool's allowlist lets through."""

    tool: str
    arguments: dict[str, object]
    summary: str
    succeeded: bool
    latency_ms: int
    cache_hit: bool
    tokens: int
    at: float

    def as_json(self) -> str:
        entry = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class Recollection:
    """A session read back: the last 20 calls, latest first, the totals, and what was shown last."""

    calls: list[dict[str, object]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    last_shown: LastShown | None = None
