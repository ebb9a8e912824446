"""Events as the pipeline tells of a call, for what listens to them."""

from __future__ import annotations

from typing import Any

from server.telemetry.events import CallFinished


def an_event(**changed: Any) -> CallFinished:
    facts: dict[str, Any] = {
        "call_id": "c1", "tool": "lookup_order", "outcome": "ok", "source": "live", "fallback": None, "milliseconds": 1.0,
        "budget_left_ms": 2000, "degraded": (), "transport": "sse", "user": "hash-of-user", "traceparent": None,
        "arguments": {}, "agent": "agent", "audited": {"order_id": "MNG-DEMO1001"},
    }  # fmt: skip
    return CallFinished(**{**facts, **changed})
