"""What a call leaves behind for the calls after it, written in one trip at its end."""

from __future__ import annotations

from dataclasses import replace

from server.call import CACHE, STALE, Call, Outcome
from server.stages.shared.call_event import remembered
from session import keys
from session.history import NOTHING, HistoryEntry, LastShown
from session.memory import SessionMemory
from session.redis.keyvalue import Command, Step
from tools.contract import CachePolicy

RESULT_SET_SECONDS = 30 * 60
LONGEST_QUERY = 200
BYTES_A_TOKEN = 4


def all_writes(call: Call, outcome: Outcome, memory: SessionMemory, now: float) -> list[Step]:
    """Returns what the stages within want written, the result set of what it shows, and the call itself in its session's
    history. `now` is in seconds since the epoch."""
    shown = _shown(call, outcome)
    steps = [*call.pending_writes]
    if shown is not None and outcome.value is not None and call.begin_request is not None:
        set_key = keys.result_set(str(outcome.value["result_set"]))
        memory.recent.keep(call.begin_request, shown, set_key)
    if shown is not None and outcome.source not in (CACHE, STALE):
        steps.append(_result_set(call, outcome, shown))
    if call.session is not None:
        steps.append(memory.record(call.session, call.principal.user, _entry(call, outcome, now), shown))
    return steps


def _shown(call: Call, outcome: Outcome) -> LastShown | None:
    shown = call.tool.tool.shown
    if shown is None or outcome.value is None:
        return None
    last = shown(call.arguments, outcome.value)
    return last if len(last.query) <= LONGEST_QUERY else replace(last, query=last.query[:LONGEST_QUERY])


def _result_set(call: Call, outcome: Outcome, shown: LastShown) -> Command:
    assert outcome.value is not None
    policy = call.tool.tool.cache or CachePolicy(0, 0)
    key = keys.result_set(str(outcome.value["result_set"]))
    seconds = RESULT_SET_SECONDS + policy.stale_seconds
    return Command(("SET", key, " ".join(shown.title_ids) or NOTHING, "EX", seconds))


def _entry(call: Call, outcome: Outcome, now: float) -> HistoryEntry:
    summary = outcome.failure.name if outcome.failure else call.tool.tool.summary(outcome.value or {})
    return HistoryEntry(
        tool=call.name,
        arguments=remembered(call, outcome),
        summary=summary,
        succeeded=outcome.succeeded,
        latency_ms=round(call.elapsed_ms()),
        cache_hit=outcome.source == CACHE,
        tokens=len((outcome.text or "").encode()) // BYTES_A_TOKEN,
        at=round(now, 3),
    )
