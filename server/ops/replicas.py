"""The processes that this one knows of: by the relay, which passes requests between them."""

from __future__ import annotations

from typing import Any

from server.transport.http.reach import Reach
from session.resilience.clocks import Clock

MOST = 64
FORGOTTEN_SECONDS = 300.0
LOOK_SECONDS = 5.0
Json = dict[str, Any]


class Replicas:
    """Others are known as long as there is something between them and this one, and for five minutes after."""

    def __init__(self, own: str, reach: Reach, clock: Clock) -> None:
        self._own, self._reach, self._clock = own, reach, clock
        self._seen: dict[str, float] = {}
        self._looked_at = float("-inf")

    def tick(self) -> None:
        now = self._clock()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        seen = self._seen | dict.fromkeys(self._reach.others(), now)
        newest = sorted(((at, name) for name, at in seen.items() if now - at <= FORGOTTEN_SECONDS), reverse=True)[:MOST]
        self._seen = {name: at for at, name in newest}

    def rows(self) -> list[Json]:
        now = self._clock()
        others = [{"name": name, "seen_s_ago": round(now - at, 1), "self": False} for name, at in sorted(self._seen.items())]
        return [{"name": self._own, "seen_s_ago": 0.0, "self": True}, *others]
