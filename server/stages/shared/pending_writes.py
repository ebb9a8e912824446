"""What a call leaves behind for the calls after it, written in one trip at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from server.call import CACHE, STALE, Call, Outcome
from server.stages.shared.history_entry import entry_of
from session import keys
from session.history import NOTHING, SHARED, LastShown
from session.memory import SessionMemory
from session.redis.keyvalue import Command, Step
from tools.contract import CachePolicy
from tools.results.shared import one_title

RESULT_SET_SECONDS = 30 * 60
LONGEST_QUERY = 200
LONGEST_SHARED = 200


def all_writes(call: Call, outcome: Outcome, memory: SessionMemory, now: float) -> list[Step]:
    """Returns what the stages within want written, the result set of what it shows, and the call itself in its session's
    history. `now` is in seconds since the epoch."""
    shown = _shown(call, outcome)
    steps = [*call.pending_writes]
    if call.turn is not None and call.turn.tokens is not None and call.begin_request is not None:
        steps += memory.spend(call.begin_request, call.tokens)
    if call.begin_request is not None:
        steps += memory.pause(call.begin_request)
    if shown is not None and outcome.value is not None and call.begin_request is not None:
        memory.recent.keep_set(keys.result_set(str(outcome.value["result_set"])), shown.title_ids)
    if shown is not None and not _is_kept(call, outcome):
        steps.append(_result_set(call, outcome, shown))
    if call.session is not None and call.tool.tool.recorded:
        steps.append(_record(call, outcome, memory, shown, now))
    return steps


def _record(call: Call, outcome: Outcome, memory: SessionMemory, shown: LastShown | None, now: float) -> Step:
    assert call.session is not None
    shared = _shared(call, outcome, shown)
    if call.begin_request is not None:
        call.left = memory.recent.keep(call.begin_request, shown, shared)
    entry = entry_of(call, outcome, shown, shared, now)
    kept = replace(entry, result=call.call_id) if call.packed else entry
    return memory.record(call.session, call.principal.user, kept, shown, shared, call.packed)


def _is_kept(call: Call, outcome: Outcome) -> bool:
    """Whether the result set was kept with the result: one from the cache may show less of it since, by today's stock."""
    cached = call.begun.cached if call.begun else None
    if outcome.source not in (CACHE, STALE) or cached is None or outcome.value is None:
        return False
    return bool(cached.value.get("result_set") == outcome.value.get("result_set"))


def _shown(call: Call, outcome: Outcome) -> LastShown | None:
    shown = call.tool.tool.shown
    if shown is None or outcome.value is None:
        return None
    last = shown(call.arguments, outcome.value)
    return last if len(last.query) <= LONGEST_QUERY else replace(last, query=last.query[:LONGEST_QUERY])


def _shared(call: Call, outcome: Outcome, shown: LastShown | None) -> Mapping[str, str]:
    """What later calls may refer to without naming it. A list that was shown says so by itself."""
    shares = call.tool.tool.shares
    if shown is not None:
        titles = zip(shown.title_ids, shown.titles, strict=True)
        shared = one_title({"title_id": title_id, "title": title} for title_id, title in titles)
    else:
        shared = dict(shares(outcome.value)) if shares is not None and outcome.value is not None else {}
    return {name: value[:LONGEST_SHARED] for name, value in shared.items() if name in SHARED}


def _result_set(call: Call, outcome: Outcome, shown: LastShown) -> Command:
    assert outcome.value is not None
    policy = call.tool.tool.cache or CachePolicy(0, 0)
    key = keys.result_set(str(outcome.value["result_set"]))
    seconds = RESULT_SET_SECONDS + policy.stale_seconds
    return Command(("SET", key, " ".join(shown.title_ids) or NOTHING, "EX", seconds))
