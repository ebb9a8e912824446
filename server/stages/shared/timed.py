"""A stage, with a note of its time: what the pipeline is folded of for calls that somebody watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from server.call import Call, Handler, Outcome

Stage = Callable[[Call, Handler], Awaitable[Outcome]]


class Timed:
    """Goes by the name of the stage's file. What runs behind the call, as a refresh does, has nobody who watches it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.name = type(stage).__module__.rpartition(".")[2]

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        around = call.interval
        if around is None:
            return await self._stage(call, inner)
        with around.begin("stage", self.name) as interval:
            call.interval = interval
            try:
                outcome = await self._stage(call, inner)
            finally:
                call.interval = around
            if outcome.failure is not None:
                interval.end(outcome.failure.name)
            return outcome
