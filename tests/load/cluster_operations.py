"""What session memory sends for a call, as it sends it: written down once, and sent by every client that is measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from session import keys
from session.begin import BeginRequest, CacheKey
from session.history import HistoryEntry, LastShown
from session.memory import SessionMemory
from session.redis.keyvalue import Command, KeyValue, Step
from session.resilience.breaker import BreakerPolicy, CircuitBreaker
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import TurnKind, TurnName, TurnRequest, Turns
from tests.support.valkey import Recorded

SESSIONS = 500
RESULT_BYTES = 2000
SHOWN = LastShown(("op-1", "op-2", "op-3"), ("One Piece 1", "One Piece 2", "One Piece 3"), "one piece")

Trips = Sequence[Sequence[Step]]


@dataclass(frozen=True, slots=True)
class Operations:
    """The same operation for each of many sessions. `begin_script` is one step, `begin` and `end` are three slots each."""

    begin_script: Trips
    begin: Trips
    end: Trips

    @classmethod
    async def written_down(cls, redis: KeyValue) -> Operations:
        """By session memory itself, which sends all of them once over `redis`: the scripts are known there afterwards."""
        sent = Recorded(redis)
        rate = Rate(per_second=1_000_000, burst=1_000_000)
        breaker = CircuitBreaker("redis", BreakerPolicy(5.0))
        memory = SessionMemory(sent, breaker, Turns(3000), rate, LocalLimits(rate))
        for n in range(SESSIONS):
            await memory.begin(_request(n, None, None))
        for n in range(SESSIONS):
            await memory.begin(_request(n, f"user-{n}", keys.cached_result("search", "bench", f"digest-{n}")))
        for n in range(SESSIONS):
            state = memory.recent.keep(_request(n, f"user-{n}", None), SHOWN, {})
            await memory.end([memory.record(f"session-{n}", f"user-{n}", _entry(), state), *_results(n)])
        assert len(sent.trips) == 3 * SESSIONS
        return cls(*(sent.trips[first : first + SESSIONS] for first in range(0, 3 * SESSIONS, SESSIONS)))

    def by_name(self) -> dict[str, Trips]:
        return {"begin.lua": self.begin_script, "begin": self.begin, "end": self.end}


def _request(n: int, user: str | None, cached: str | None) -> BeginRequest:
    turn = TurnRequest(f"turn-{n}-{user}", TurnName(TurnKind.NAMED, "turn-1"), time.monotonic())
    return BeginRequest(f"session-{n}", user, turn, cached=CacheKey(cached, bytes(32)) if cached else None)


def _entry() -> HistoryEntry:
    asked: dict[str, object] = {"query": "one piece", "max_results": 5}
    return HistoryEntry("search_manga_catalog", asked, "3 titles", True, 12, False, 400, time.time())


def _results(n: int) -> list[Step]:
    stored = b"1700000000000 " + b"x" * RESULT_BYTES
    cached = Command(("SET", keys.cached_result("search", "bench", f"digest-{n}"), stored, "EX", 300))
    return [cached, Command(("SET", keys.result_set(f"rs_{n}"), " ".join(SHOWN.title_ids), "EX", 300))]
