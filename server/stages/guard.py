"""Failures become outcomes. The only broad `except` of the way: what nobody foresaw is logged, and told to nobody."""

from __future__ import annotations

import logging

from server.call import Call, Handler, Outcome
from tools.store.failures import Failure, InternalFailure

logger = logging.getLogger(__name__)


class Guard:
    """Lets nothing out but an outcome, and cancellation."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await inner(call)
        except Failure as failure:
            return Outcome(failure=failure)
        except Exception:
            logger.exception("call %s of %s failed unexpectedly", call.call_id, call.name)
            return Outcome(failure=InternalFailure("Something went wrong on our side. It has been logged."))
