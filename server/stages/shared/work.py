"""A tool's own work within a call: what it answers, what it adds to an answer, what it falls back on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from server.call import Call, Json
from tools.contract import ToolContext

Work = Callable[[ToolContext, Json], Awaitable[Json]]


async def work(call: Call, name: str, run: Work, context: ToolContext, given: Json) -> Json:
    """Runs it, noted by this `name` for whoever watches the call. Raises what it raises."""
    if call.interval is None:
        return await run(context, given)
    with call.interval.begin("work", name) as interval:
        context.deadline = context.deadline.inside(interval)
        return await run(context, given)
