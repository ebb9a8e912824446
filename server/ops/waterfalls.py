"""Waterfall charts of sampled turns: each call with the timing of its spans. A turn is a customer's question with all calls
that answer it."""

from __future__ import annotations

import re
from functools import partial
from hashlib import blake2b

from server.call import Call, Json
from server.telemetry.events import CallFinished
from session.resilience.clocks import Clock, WallClock
from session.resilience.deadline import Span
from session.resilience.lru import Lru
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import TurnKind


def hash_text(key: bytes, kind: str, text: str) -> str:
    """Returns 8 hex digits that depend on `kind` and `text`. Without `key` the text cannot be guessed from them."""
    return blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=4, key=key).hexdigest()


PER_SECOND = 2
BURST = 10
"""`PER_SECOND` turns are sampled a second, and `BURST` at once. A call costs a fifth more if it is observed, and a further
fifth to send; this rate keeps the page under 3 % of the server's time (`tests/load/ops.py`)."""
MOST_CALLS = 32
"""Most sampled calls of one turn. A model makes fewer; the limit is for clients that use one turn's name for every call."""
HOLDS_SECONDS = 10.0
"""Seconds for which a sampling decision holds. It expires because the unnamed turns of a session share one decision."""


class Turns:
    """Samples whole turns, deciding at a turn's first call. A token bucket of `PER_SECOND` and `BURST` limits the rate."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._decided: Lru[int, tuple[float, int]] = Lru(2048)  # 200 turns a second for ten seconds
        self._limits = LocalLimits(Rate(PER_SECOND, BURST), clock)

    def is_sampled(self, turn: int) -> bool:
        """True if a call of the turn with this hash is sampled, which counts towards the turn's `MOST_CALLS`."""
        now = self._clock()
        decided_at, calls_left = self._decided.use(turn) or (float("-inf"), 0)
        if now - decided_at >= HOLDS_SECONDS:
            decided_at, calls_left = now, 0 if self._limits.wait_ms("turns") else MOST_CALLS
        self._decided.put(turn, (decided_at, max(0, calls_left - 1)))
        return calls_left > 0


MOST_WAITING = 256
"""Most finished calls kept until the next message (half a second), and most sampled calls in flight."""
ACTIVE_SECONDS = 300.0
WORDS = re.compile(r"[A-Za-z][A-Za-z_ ]{0,39}")


class Waterfalls:
    """A sink and an observer that samples calls when they arrive, and returns them when they have ended. Also counts active
    sessions, since events do not contain the session."""

    def __init__(self, key: bytes, clock: Clock, wall: WallClock) -> None:
        self._hash, self._clock, self._wall = partial(hash_text, key), clock, wall
        self._turns = Turns(clock)
        self._under_way: Lru[str, Call] = Lru(MOST_WAITING)
        self._finished: list[tuple[CallFinished, Call, float]] = []
        self._sessions: Lru[int, float] = Lru(10_000)
        self._implicit: Lru[str, tuple[int, float]] = Lru(MOST_WAITING)

    def wants(self, call: Call) -> bool:
        session = call.metadata.session or call.transport_session
        if session is not None:
            self._sessions.put(hash(session), self._clock())
        if not self._turns.is_sampled(hash(_name(call))):
            return False
        self._under_way.put(call.call_id, call)
        return True

    def __call__(self, event: CallFinished) -> None:
        call = self._under_way.pop(event.call_id)
        if call is not None and event.timeline is not None and len(self._finished) < MOST_WAITING:
            self._finished.append((event, call, self._wall()))

    def take(self) -> list[Json]:
        """Returns the sampled calls that have ended since this method was last called."""
        over, self._finished = self._finished, []
        return [self._as_dict(*each) for each in over]

    def active_sessions(self) -> int:
        """Returns the number of sessions with a call in the last five minutes, at most ten thousand."""
        self._sessions.pop_while(lambda used: self._clock() - used > ACTIVE_SECONDS)
        return len(self._sessions)

    def _as_dict(self, event: CallFinished, call: Call, at: float) -> Json:
        session, user, timeline = call.session or call.transport_session, call.principal.user, event.timeline
        assert timeline is not None
        turn = call.turn
        into_ms = None if turn is None else turn.total_ms - (turn.ends.at - call.arrived) * 1000
        return {
            "call_id": event.call_id,
            "turn": self._turn(call),
            "session": self._hash("session", session) if session else None,
            "user": self._hash("user", user) if user else None,
            "tool": event.tool,
            "transport": event.transport,
            "at": round(at, 3),
            "ms": round(event.milliseconds, 2),
            "started_ms_into_turn": None if into_ms is None else max(0, round(into_ms)),
            "turn_budget_ms": None if turn is None else turn.total_ms,
            "left_ms": event.budget_left_ms,
            "outcome": event.outcome,
            "source": event.source,
            "fallback": event.fallback,
            "degraded": list(event.degraded),
            "empty": event.empty,
            "more_intervals": timeline.more,
            "intervals": [_span_of(each, call.arrived) for each in timeline.spans],
        }

    def _turn(self, call: Call) -> str:
        """Returns the turn's hash. Turns without name and trace are numbered within their session: a call whose turn ends at
        another time than the last call's begins a new number."""
        turn = _name(call)
        if call.turn is not None and call.turn.name.kind is TurnKind.IMPLICIT:
            number, ends = self._implicit.use(turn) or (0, call.turn.ends.at)
            number += abs(call.turn.ends.at - ends) > 0.25  # s: calls of one turn may compute slightly different ends
            self._implicit.put(turn, (number, call.turn.ends.at))
            turn = f"{turn}\0{number}"
        return self._hash("turn", turn)


def _name(call: Call) -> str:
    """Returns the session with the turn's name or trace, or the call's id if the call has none of these."""
    session, turn = call.metadata.session or call.transport_session, call.metadata.turn or call.metadata.trace
    return f"{session}\0{turn or ''}" if session or turn else call.call_id


def _span_of(span: Span, arrived: float) -> Json:
    ended, noted = span.started if span.ended is None else span.ended, span.attributes
    return {
        "name": span.name,
        "kind": span.kind,
        "from_ms": round((span.started - arrived) * 1000, 2),
        "ms": round((ended - span.started) * 1000, 2),
        "parent": span.parent,
        "outcome": span.outcome,
        "detail": {name: value for name, value in noted.items() if is_plain(value)} if noted else noted,
    }


def is_plain(value: object) -> bool:
    """True for numbers and short words. Other span attributes are not shown."""
    return WORDS.fullmatch(value) is not None if isinstance(value, str) else isinstance(value, (int, float))
