"""The call log, with one JSON line for each call, and a warning about turns whose time was used up."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from server.telemetry.events import CallFinished
from session.resilience.clocks import Clock

SECONDS = 60.0
EACH, TOGETHER = 10, 300
MOST_KINDS, MOST_TOLD = 1000, 20


Kind = tuple[str, str, str]
"""The key for limiting repeated lines: caller (a hash), tool and outcome."""
OTHERS: Kind = ("others", "any", "any")
logger = logging.getLogger("manga.calls")


@dataclass(slots=True)
class RepeatLimit:
    """Allows ten lines of each kind, and 300 in total, a minute, and counts the others. Beyond 1000 kinds a minute, and 20
    in a report, counts are summed as "others", since callers may state ever new names."""

    clock: Clock = time.monotonic
    _since: float = float("-inf")
    _written: Counter[Kind] = field(default_factory=Counter)
    _left_out: Counter[Kind] = field(default_factory=Counter)

    def allow(self, kind: Kind) -> bool:
        """True if a line of this kind may be written, else counts it as left out. Call `take_expired` first."""
        if self._written[kind] < EACH and self._written.total() < TOGETHER:
            self._written[kind] += 1
            return True
        self._left_out[kind if kind in self._left_out or len(self._left_out) < MOST_KINDS else OTHERS] += 1
        return False

    def take_expired(self) -> list[dict[str, object]]:
        """If a minute has passed, returns the report of lines left out and starts a new minute; else returns []."""
        return [] if self.clock() - self._since < SECONDS else self.take_all()

    def take_all(self) -> list[dict[str, object]]:
        """Returns the counts of lines left out, the most frequent kind first, and starts a new minute."""
        left_out, self._left_out, self._written = self._left_out, Counter(), Counter()
        self._since = self.clock()
        others = left_out.pop(OTHERS, 0)
        most = left_out.most_common()
        if rest := others + sum(times for _, times in most[MOST_TOLD:]):
            most[MOST_TOLD:] = [(OTHERS, rest)]
        return [{"user": user, "tool": tool, "outcome": out, "times": times} for (user, tool, out), times in most]


class CallLog:
    """A sink that logs calls. `which` is "off", "errors" or "all". `repeats` limits the lines of failed calls."""

    def __init__(self, which: str, repeats: RepeatLimit | None = None) -> None:
        self._which = which
        self._repeats = repeats or RepeatLimit()

    def __call__(self, event: CallFinished) -> None:
        if left_out := self._repeats.take_expired():
            self._write({"left_out": left_out})
        if self._which == "off" or (self._which == "errors" and event.outcome == "ok"):
            return
        if event.outcome != "ok" and not self._repeats.allow((event.user, event.tool, event.outcome)):
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
        """Logs a last line with the numbers of lines left out, if there are any."""
        if left_out := self._repeats.take_all():
            self._write({"left_out": left_out})

    def _write(self, line: dict[str, object]) -> None:
        logger.info("%s", json.dumps(line, ensure_ascii=False, separators=(",", ":")))


turns_logger = logging.getLogger("manga.turns")
REMEDY = (
    "The time between calls, in which the model thinks, uses turns up: raise MANGA_TURN_BUDGET_MS, or set "
    "MANGA_TURN_CLOCK=tools, which counts the time inside calls alone."
)


class ExhaustedTurns:
    """A sink that warns, at most once a minute, of calls that began with no time left because of the time between the turn's
    calls. The warning also counts calls whose turn was used up inside calls."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._warned_at = float("-inf")
        self._between, self._inside = 0, 0

    def __call__(self, event: CallFinished) -> None:
        self._between += event.turn_over and event.over_between
        self._inside += event.turn_over and not event.over_between
        if event.turn_over and self._between and self._clock() - self._warned_at >= SECONDS:
            text = "%d calls began when their turn was over by the time between calls, %d by that inside them. %s"
            turns_logger.warning(text, self._between, self._inside, REMEDY)
            self._warned_at, self._between, self._inside = self._clock(), 0, 0
