"""One JSON line a call, for the calls that the operator wants to see."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from server.telemetry.events import CallFinished

SECONDS = 60.0
EACH = 10
TOGETHER = 300
MOST_KINDS = 1000
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Kind:
    """Lines of one caller (a hash), tool and outcome are alike."""

    user: str
    tool: str
    outcome: str


OTHERS = Kind("others", "any", "any")


@dataclass(slots=True)
class Repeats:
    """In each minute the first ten lines of a kind are written, and 300 of all kinds; the others are counted.

    Callers may state ever new names, so the counts are bounded too: beyond a thousand kinds a minute, and twenty of what was
    left out, they are added up under "others".
    """

    clock: Callable[[], float] = time.monotonic
    _since: float = float("-inf")
    _written: dict[Kind, int] = field(default_factory=dict)
    _left_out: dict[Kind, int] = field(default_factory=dict)
    _together: int = 0

    def admits(self, kind: Kind) -> bool:
        """Tells whether a line of this kind is to be written. Ask for what is `over` first."""
        times = self._written.get(kind, 0)
        if times < EACH and self._together < TOGETHER:
            self._written[kind] = times + 1
            self._together += 1
            return True
        known = kind if kind in self._left_out or len(self._left_out) < MOST_KINDS else OTHERS
        self._left_out[known] = self._left_out.get(known, 0) + 1
        return False

    def over(self) -> list[dict[str, object]]:
        """Returns what was left out in a minute that has ended, once: the most frequent first."""
        if self.clock() - self._since < SECONDS:
            return []
        return self.rest()

    def rest(self) -> list[dict[str, object]]:
        """Returns what was left out so far; a new minute begins."""
        left_out, self._left_out, self._written = self._left_out, {}, {}
        self._since, self._together = self.clock(), 0
        return _told(left_out)


def _told(left_out: dict[Kind, int]) -> list[dict[str, object]]:
    most = sorted(((times, kind) for kind, times in left_out.items() if kind != OTHERS), key=_times, reverse=True)
    told = most[:MOST_TOLD]
    if rest := left_out.get(OTHERS, 0) + sum(times for times, _ in most[MOST_TOLD:]):
        told.append((rest, OTHERS))
    return [{"user": kind.user, "tool": kind.tool, "outcome": kind.outcome, "times": times} for times, kind in told]


def _times(counted: tuple[int, Kind]) -> int:
    return counted[0]


logger = logging.getLogger("manga.calls")


class LogLine:
    """`which` is "off", "errors" or "all". Of failed calls that are alike, only the first in a minute are written."""

    def __init__(self, which: str, repeats: Repeats | None = None) -> None:
        self._which = which
        self._repeats = repeats or Repeats()

    def __call__(self, event: CallFinished) -> None:
        if left_out := self._repeats.over():
            self._write({"left_out": left_out})
        if self._which == "off" or (self._which == "errors" and event.outcome == "ok"):
            return
        if event.outcome != "ok" and not self._repeats.admits(Kind(event.user, event.tool, event.outcome)):
            return
        line: dict[str, object] = {
            "call": event.call_id,
            "tool": event.tool,
            "outcome": event.outcome,
            "source": event.source,
            "ms": round(event.milliseconds, 1),
            "budget_left_ms": event.budget_left_ms,
            "degraded": event.degraded,
            "transport": event.transport,
            "user": event.user,
            "arguments": event.arguments,
            **event.trace,
        }
        if event.violations:
            line["violations"] = [{"path": path, "rule": rule} for path, rule in event.violations]
        self._write(line)

    def close(self) -> None:
        """Says what was left out last."""
        if left_out := self._repeats.rest():
            self._write({"left_out": left_out})

    def _write(self, line: dict[str, object]) -> None:
        logger.info("%s", json.dumps(line, ensure_ascii=False, separators=(",", ":")))
