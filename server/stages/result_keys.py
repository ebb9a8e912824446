"""By which name a result is cached, and by which equal calls find each other."""

from __future__ import annotations

import json

from server.call import Call
from session import keys
from session.result_cache import digest


def cache_key(call: Call) -> str | None:
    """The same for everybody unless the tool's results depend on the user. None where nothing is cached."""
    policy = call.tool.tool.cache
    if policy is None:
        return None
    owner = keys.user_hash(call.principal.user) if policy.per_user else ""
    return keys.cached_result(call.name, call.tool.form, digest(call.arguments, owner))


def flight_key(call: Call) -> str:
    """Equal calls whose answers are equal. Whoever's session or orders could change the answer flies alone or apart."""
    tool, begun = call.tool.tool, call.begun
    shared = tool.cache is not None and not tool.cache.per_user
    owner = "" if shared else json.dumps([call.principal.user, call.session])
    ids = (*begun.last_ids, "|", *(begun.result_set or ())) if begun and not shared else ()
    return digest(call.name, call.arguments, owner, ids)
