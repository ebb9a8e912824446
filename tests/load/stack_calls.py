"""What one call costs that nothing can answer from memory: `python -m tests.load.stack_calls`, one row for each call of a turn.

Turns of three calls on the real stack, the pipeline in this process, without MCP and HTTP. Prints ms of processor time, of all
threads, and calls of Python functions, which no other work on the machine changes: the figure to compare two versions by.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import Settings
from server.wiring import open_app
from tests.load.calls import Turn, turns
from tests.load.stack_servers import NOTHING_KEPT, backends
from tests.load.stack_turns import CALLS, TOOLS, never_asked

WARM_TURNS, TIMED_TURNS, COUNTED_TURNS = 30, 100, 30


class Costs:
    """Of all turns so far, by call."""

    def __init__(self, app: Application) -> None:
        self._app, self._tools = app, [app.registry.get(name) for name in TOOLS]
        self.cpu_ms: Counter[str] = Counter()
        self.python_calls: Counter[str] = Counter()

    async def turn(self, turn: Turn, query: str, *, counted: bool) -> None:
        """Raises `AssertionError` for a call that fails."""
        arguments: list[dict[str, Any]] = [{"query": query}, {}, {"title_id": "manga-001001"}]
        for call, tool, given in zip(CALLS, self._tools, arguments, strict=True):
            assert tool is not None
            stated = RequestMetadata(session=turn.session, turn=turn.turn, user=turn.user)
            asked = Call(uuid.uuid4().hex, tool, given, stated, time.monotonic(), transport="bench")
            began = time.process_time()
            with self._counting(call) if counted else _uncounted():
                outcome = await self._app.pipeline.run(asked)
            self.cpu_ms[call] += (time.process_time() - began) * 1000
            assert outcome.has_succeeded, outcome.failure
            if call == CALLS[0] and outcome.value and outcome.value["results"]:
                arguments[2]["title_id"] = outcome.value["results"][0]["title_id"]

    @contextmanager
    def _counting(self, call: str) -> Iterator[None]:
        def seen(_: FrameType, event: str, __: object) -> None:
            if event == "call":
                self.python_calls[call] += 1

        sys.setprofile(seen)
        try:
            yield
        finally:
            sys.setprofile(None)


@contextmanager
def _uncounted() -> Iterator[None]:
    yield


async def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="manga-bench-") as folder:
        async with backends(Path(folder)) as there:
            os.environ.update(there.settings() | NOTHING_KEPT)
            async with open_app(Settings.from_environment(os.environ)) as app:
                return await _table(app)


async def _table(app: Application) -> str:
    run = uuid.uuid4().hex[:8]
    asked = zip(turns(run, 0, 1), never_asked(run, 0, 1), strict=False)
    parts = []
    for many, counted in ((WARM_TURNS, False), (TIMED_TURNS, False), (COUNTED_TURNS, True)):
        costs = Costs(app)
        for _ in range(many):
            await costs.turn(*next(asked), counted=counted)
        parts.append(costs)
    _, timed, counted_costs = parts
    rows = [(timed.cpu_ms[call] / TIMED_TURNS, counted_costs.python_calls[call] / COUNTED_TURNS) for call in CALLS]
    mean = tuple(sum(column) / len(CALLS) for column in zip(*rows, strict=True))
    lines = zip((*CALLS, "mean"), (*rows, mean), strict=True)
    return "\n".join(f"{name:8}{ms:7.2f} ms of CPU{calls:8.0f} calls of Python" for name, (ms, calls) in lines)


if __name__ == "__main__":
    print(asyncio.run(measure()))
