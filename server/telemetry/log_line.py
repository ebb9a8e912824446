"""One JSON line a call, for the calls that the operator wants to see."""

from __future__ import annotations

import json
import logging

from server.telemetry.events import CallFinished

logger = logging.getLogger("manga.calls")


class LogLine:
    """`which` is "off", "errors" or "all"."""

    def __init__(self, which: str) -> None:
        self._which = which

    def __call__(self, event: CallFinished) -> None:
        if self._which == "off" or (self._which == "errors" and event.outcome == "ok"):
            return
        line = {
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
        }
        logger.info("%s", json.dumps(line, ensure_ascii=False, separators=(",", ":")))
