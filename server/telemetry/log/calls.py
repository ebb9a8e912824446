"""One JSON line a call, for the calls that the operator wants to see."""

from __future__ import annotations

import json
import logging

from server.telemetry.events import CallFinished
from server.telemetry.log.repeats import Kind, Repeats

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
