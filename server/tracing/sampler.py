"""Which calls become part of a trace."""

from __future__ import annotations

import random
from collections.abc import Callable

from server.call import Call
from server.telemetry.trace_context import TraceContext
from server.tracing.environment import Sampling
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate

BY_CALLERS = Rate(per_second=50, burst=100)
"""Calls that are sampled because their callers say so. Beyond that the ratio decides: nobody outside makes this process
export without limit."""
BITS = 64
"""Of a trace id, the lower ones, which are random everywhere."""


class Sampler:
    """Its caller's decision, or the ratio by the trace's id, so that whoever goes by the same ratio decides the same."""

    traces = True

    def __init__(self, sampling: Sampling, clock: Clock, draw: Callable[[int], int] = random.getrandbits) -> None:
        self._parent_based = sampling.parent_based
        self._below = round(sampling.ratio * (1 << BITS))
        self._limits = LocalLimits(BY_CALLERS, clock, capacity=1)
        self._draw = draw

    def wants(self, call: Call) -> bool:
        caller = TraceContext.read(call.metadata.traceparent)
        if caller is None:
            return self._draw(BITS) < self._below
        if self._parent_based and not caller.sampled:
            return False
        if self._parent_based and not self._limits.wait_ms("callers"):
            return True
        return caller.trace_id % (1 << BITS) < self._below
