"""The caller's place in a trace, as `traceparent` says it (W3C Trace Context, level 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """`sampled` is what the caller has decided for itself, and suggests."""

    trace_id: int
    span_id: int
    sampled: bool

    @classmethod
    def read(cls, traceparent: str | None) -> TraceContext | None:
        """None where there is none, or a malformed one."""
        found = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
        if found is None:
            return None
        return cls(int(found[1], 16), int(found[2], 16), bool(int(found[3], 16) & 1))
