"""Starting, ready, draining: what the server tells probes, and how it stops without losing an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.local.turns import TurnShadows

if TYPE_CHECKING:
    from server.stages.shed import Shed

GRACE_SECONDS = 0.2
"""A request that was on its way when the last call ended gets so long to arrive."""


@dataclass(slots=True)
class Lifecycle:
    """It is `wired` as long as there are backends, and `draining` from the first signal on; it serves no sooner than it
    `knows` which tools are on."""

    wired: bool = False
    draining: bool = False
    knows: Callable[[], bool] = lambda: True

    @property
    def serves(self) -> bool:
        return self.wired and self.knows() and not self.draining

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Calls are taken within the block."""
        self.wired = True
        try:
            yield
        finally:
            self.wired = False


async def drain(lifecycle: Lifecycle, shed: Shed, turns: TurnShadows, budget_seconds: float) -> None:
    """Answers open conversations until their turns are over and no call is under way, for at most one turn's budget."""
    lifecycle.draining = True
    try:
        async with asyncio.timeout(budget_seconds):
            while (left := turns.latest_end() - time.monotonic()) > 0 or shed.under_way:
                if shed.under_way:
                    await shed.idle.wait()
                else:
                    await asyncio.sleep(min(left, GRACE_SECONDS))
            await asyncio.sleep(GRACE_SECONDS)
            await shed.idle.wait()
    except TimeoutError:
        pass  # one budget is the promise; who still waits gets the connection closed
