"""The writes that put results into the cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from server.call import LIVE, Call, Outcome
from server.stages.shared.echoes import sealed, words
from server.stages.shared.result_keys import cache_key
from session.redis.keyvalue import Command, Step
from session.result_cache import encode

JITTER = 0.1


@dataclass(frozen=True, slots=True)
class ResultWrites:
    """There are none unless the cache is `enabled`."""

    enabled: bool
    draw: Callable[[], float] = random.random

    def of(self, call: Call, outcome: Outcome) -> Step | None:
        """Returns the write of a live result, as old as its own answer says; what came with more than JSON would not be
        whole. Its life is jittered, so that results made together do not expire together."""
        policy, key = call.tool.tool.cache, cache_key(call)
        if policy is None or key is None or not self.enabled or outcome.source != LIVE or outcome.content:
            return None
        if outcome.value is None or outcome.as_of is None:
            return None
        stored = encode(sealed(outcome.value, call.tool.tool.echoes, call.arguments, words(call)), outcome.as_of)
        seconds = round(policy.stale_seconds * (1 - JITTER * self.draw()))
        return Command(("SET", key, stored, "EX", seconds)) if stored else None

    def end_of(self, call: Call) -> list[Step]:
        """Returns the end of a copy whose source says that there is no such thing any more."""
        key = cache_key(call)
        return [Command(("UNLINK", key))] if key is not None else []
