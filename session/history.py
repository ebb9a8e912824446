"""What is remembered of calls and of what they showed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

SEARCH, RECOMMENDATIONS = "search", "recommendations"


@dataclass(frozen=True, slots=True)
class LastShown:
    """The titles that a conversation was shown last, what for, and `by` what: SEARCH or RECOMMENDATIONS. `titles` are their
    names, where they were asked for."""

    title_ids: tuple[str, ...]
    titles: tuple[str, ...]
    query: str
    by: str = SEARCH


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
