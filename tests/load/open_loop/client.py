"""The customers' agents, in a process of their own: keeps to the schedule, and counts each call from when it was due.

Coordinated omission (Gil Tene, "How NOT to Measure Latency"): a client that waits for an answer before it asks again is
stopped by the very stall it should measure. Here nothing waits but the turn that is waiting anyway; whatever is sent late,
by this client's own fault too, has its time counted from the moment it was due. No MCP library and no JSON parsing.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import sys
from typing import Any

from tests.load.open_loop.conversation import Conversation
from tests.load.open_loop.mix import Mix
from tests.load.open_loop.run import Run
from tests.load.open_loop.watch import Usage, Watched
from tests.load.worker import Worker


class OpenLoopClient(Worker):
    """Commands: prepare (seed), connect (port, streams), go (run, mix, rate, settle, seconds, watch), close."""

    def __init__(self) -> None:
        self._conversations: list[Conversation] = []
        self._run: Run | None = None

    @classmethod
    def main(cls) -> int:
        # select(2) waits to the microsecond, epoll to the millisecond: with it every call would be half a millisecond late.
        def loop() -> asyncio.SelectorEventLoop:
            return asyncio.SelectorEventLoop(selectors.SelectSelector())

        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(cls._work())
        return 0

    async def prepare(self, seed: int) -> dict[str, Any]:
        self._mix = Mix(seed)
        return {}

    async def connect(self, port: int, streams: int) -> dict[str, Any]:
        self._conversations = [Conversation(port, self._answered, self._refused) for _ in range(streams)]
        await asyncio.gather(*(conversation.connect() for conversation in self._conversations))
        return {}

    async def go(
        self, run: str, mix: str, rate: float, settle: float, seconds: float, watch: dict[str, int]
    ) -> dict[str, Any]:
        """Keeps a schedule of `settle` and `seconds`; what processes use is counted for the `seconds`."""
        turns = getattr(self._mix, mix)(run, rate, settle + seconds)
        gc.collect()
        gc.freeze()
        kept = self._run = Run(turns, self._conversations)
        watched = [Watched(name, pid) for name, pid in watch.items()]
        usage = asyncio.create_task(Usage.during(watched, kept.started + settle, seconds, lambda: len(kept.rows)))
        await kept.kept()
        used = await usage
        gc.unfreeze()
        return {
            "rows": kept.rows,
            "strays": kept.strays,
            "ended": sum(conversation.ended for conversation in self._conversations),
            **used,
        }

    async def close(self) -> dict[str, Any]:
        for conversation in self._conversations:
            conversation.close()
        self._conversations = []
        return {}

    def _answered(self, number: int, event: bytes) -> None:
        if self._run is not None:
            self._run.answered(number, event)

    def _refused(self, number: int, why: str) -> None:
        if self._run is not None:
            self._run.refused(number, why)


if __name__ == "__main__":
    sys.exit(OpenLoopClient.main())
