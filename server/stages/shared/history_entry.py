"""A call as the history of its session has it."""

from __future__ import annotations

from collections.abc import Mapping

from server.call import CACHE, Call, Outcome
from server.stages.shared.call_event import remembered
from session.history import HistoryEntry, LastShown
from tools.history.selection import said

MOST_SHOWN = 5
"""Titles that an entry names: more are in what was shown last."""
LONGEST_WORDS = 200


def entry_of(call: Call, outcome: Outcome, shown: LastShown | None, shared: Mapping[str, str], now: float) -> HistoryEntry:
    """`shown` and `shared` are what the call leaves for others. The words of a call that broke a rule stay out."""
    summary = outcome.failure.name if outcome.failure else call.tool.tool.summary(outcome.value or {})
    return HistoryEntry(
        tool=call.name,
        arguments=remembered(call, outcome),
        summary=summary,
        succeeded=outcome.succeeded,
        latency_ms=round(call.elapsed_ms()),
        cache_hit=outcome.source == CACHE,
        tokens=call.tokens,
        at=round(now, 3),
        words=said(call.tool.tool, call.arguments)[:LONGEST_WORDS] if call.validated else "",
        shown=_titles(shown, shared),
    )


def _titles(shown: LastShown | None, shared: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if shown is not None:
        return tuple(zip(shown.title_ids, shown.titles, strict=True))[:MOST_SHOWN]
    title_id = shared.get("title_id")
    return ((title_id, shared.get("title", "")),) if title_id else ()
