"""By which name a result is cached, and by which equal calls find each other."""

from __future__ import annotations

import json

from server.call import Call
from session import keys
from session.result_cache import digest


def cache_key(call: Call) -> str | None:
    """Names a result, the same for everybody unless the tool's results depend on the user. None where nothing is cached."""
    policy = call.tool.tool.cache
    if policy is None:
        return None
    owner = keys.user_hash(call.customer) if policy.per_user else ""
    return keys.cached_result(call.name, call.tool.form, digest(call.arguments, owner, *obeyed(call)))


def flight_key(call: Call) -> str:
    """Names equal calls whose answers are equal. Whoever's session or orders could change the answer flies alone or
    apart, and so do two versions of a tool, and what depends on what the client says meanwhile."""
    tool, begun = call.tool.tool, call.begun
    shared = tool.cache is not None and not tool.cache.per_user
    owner = "" if shared else json.dumps([call.customer, call.session])
    refers: tuple[object, ...] = (call.call_id,) if tool.asks else ()
    if begun and not shared:
        last = (begun.last.by, begun.last.query, begun.last_ids) if begun.last else ()
        refers += (last, begun.result_set or (), dict(begun.shared))
    return digest(call.name, call.tool.form, call.arguments, owner, refers, *obeyed(call))


def obeyed(call: Call) -> tuple[str, ...]:
    """What is remembered of its customer is a part of what was asked, where there is any."""
    return (call.obeys,) if call.obeys else ()
