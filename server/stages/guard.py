"""Failures become outcomes. The only broad `except` of the way: what nobody foresaw is logged, and told to nobody."""

from __future__ import annotations

import logging

from server.call import Call, Handler, Outcome
from server.telemetry.events import TraceContext
from tools.store.failures import Failure, InternalFailure

logger = logging.getLogger(__name__)


def _trace(call: Call) -> str:
    """Names the trace to look into: that of the call, or its caller's."""
    own = TraceContext.read((call.interval and call.interval.traceparent) or call.metadata.traceparent)
    return "" if own is None else f", trace {own.trace_id:032x}"


class Guard:
    """Lets nothing out but an outcome, and cancellation."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await inner(call)
        except Failure as failure:
            return Outcome(failure=failure)
        except Exception:
            logger.exception("call %s of %s failed unexpectedly%s", call.call_id, call.name, _trace(call))
            return Outcome(failure=InternalFailure("Something went wrong on our side. It has been logged."))
