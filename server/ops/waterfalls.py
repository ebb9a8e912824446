"""Calls of chosen turns, each with where its time went."""

from __future__ import annotations

import re
from typing import Any

from server.call import Call
from server.ops.hashes import Hashes
from server.ops.turns import Turns
from server.telemetry.events import CallFinished
from session.resilience.clocks import Clock, WallClock
from session.resilience.lru import Lru
from session.resilience.timeline import Interval
from session.turn import TurnKind

MOST_UNTOLD = 256
"""Calls between two tellings, half a second; and that are under way at once."""
MOST_SESSIONS = 10_000
ACTIVE_SECONDS = 300.0
SAME_SECONDS = 0.25
"""Calls of one turn do not agree on its end to the millisecond."""
WORDS = re.compile(r"[A-Za-z][A-Za-z_ ]{0,39}")
Json = dict[str, Any]


class Waterfalls:
    """A sink and an observer: a call is chosen when it arrives, and told of when it is over. Beside that it counts the
    sessions that it sees, which calls' events do not name."""

    def __init__(self, hashes: Hashes, clock: Clock, wall: WallClock) -> None:
        self._hashes, self._clock, self._wall = hashes, clock, wall
        self._turns = Turns(clock)
        self._under_way: Lru[str, Call] = Lru(MOST_UNTOLD)
        self._over: list[tuple[CallFinished, Call, float]] = []
        self._sessions: Lru[int, float] = Lru(MOST_SESSIONS)
        self._implicit: Lru[str, tuple[int, float]] = Lru(MOST_UNTOLD)

    def wants(self, call: Call) -> bool:
        session = call.metadata.session or call.transport_session
        if session is not None:
            self._sessions.put(hash(session), self._clock())
        if not self._turns.chosen(hash(_name(call))):
            return False
        self._under_way.put(call.call_id, call)
        return True

    def __call__(self, event: CallFinished) -> None:
        call = self._under_way.pop(event.call_id)
        if call is not None and event.timeline is not None and len(self._over) < MOST_UNTOLD:
            self._over.append((event, call, self._wall()))

    def take(self) -> list[Json]:
        """Returns those that have ended since it was asked last."""
        over, self._over = self._over, []
        return [self._told(*each) for each in over]

    def active_sessions(self) -> int:
        """Those with a call in the last five minutes; ten thousand at most."""
        self._sessions.pop_while(lambda used: self._clock() - used > ACTIVE_SECONDS)
        return len(self._sessions)

    def _told(self, event: CallFinished, call: Call, at: float) -> Json:
        session, user, timeline = call.session or call.transport_session, call.principal.user, event.timeline
        assert timeline is not None
        return {
            "call_id": event.call_id,
            "turn": self._turn(call),
            "session": self._hashes.of("session", session) if session else None,
            "user": self._hashes.of("user", user) if user else None,
            "tool": event.tool,
            "transport": event.transport,
            "at": round(at, 3),
            "ms": round(event.milliseconds, 2),
            **_of_turn(call),
            "left_ms": event.budget_left_ms,
            "outcome": event.outcome,
            "source": event.source,
            "fallback": event.fallback,
            "degraded": list(event.degraded),
            "empty": event.empty,
            "more_intervals": timeline.more,
            "intervals": [_interval(each, call.arrived) for each in timeline.intervals],
        }

    def _turn(self, call: Call) -> str:
        """One that has no name goes by its session's, and how many there were in it: it is another when its end is."""
        turn = _name(call)
        if call.turn is not None and call.turn.name.kind is TurnKind.IMPLICIT:
            number, ends = self._implicit.use(turn) or (0, call.turn.ends.at)
            number += abs(call.turn.ends.at - ends) > SAME_SECONDS
            self._implicit.put(turn, (number, call.turn.ends.at))
            turn = f"{turn}\0{number}"
        return self._hashes.of("turn", turn)


def _name(call: Call) -> str:
    """Of its turn, as far as it says one. What says nothing at all is a turn by itself."""
    session, turn = call.metadata.session or call.transport_session, call.metadata.turn or call.metadata.trace
    return f"{session}\0{turn or ''}" if session or turn else call.call_id


def _of_turn(call: Call) -> Json:
    if call.turn is None:
        return {"started_ms_into_turn": None, "turn_budget_ms": None}
    into_ms = call.turn.total_ms - (call.turn.ends.at - call.arrived) * 1000
    return {"started_ms_into_turn": max(0, round(into_ms)), "turn_budget_ms": call.turn.total_ms}


def _interval(interval: Interval, arrived: float) -> Json:
    ended, noted = interval.started if interval.ended is None else interval.ended, interval.attributes
    return {
        "name": interval.name,
        "kind": interval.kind,
        "from_ms": round((interval.started - arrived) * 1000, 2),
        "ms": round((ended - interval.started) * 1000, 2),
        "parent": interval.parent,
        "outcome": interval.outcome,
        "detail": {name: value for name, value in noted.items() if is_plain(value)} if noted else noted,
    }


def is_plain(value: object) -> bool:
    """Numbers and short words: whatever else somebody notes one day stays in the process."""
    return WORDS.fullmatch(value) is not None if isinstance(value, str) else isinstance(value, (int, float))
