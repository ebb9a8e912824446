"""Whether a call gets slower with the age of its session, or with the number of sessions that are remembered."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
from pathlib import Path

from tests.load.children import python
from tests.load.results import Growth
from tests.load.variants import PRODUCT

ROUNDS = 9


async def growth(aged_sessions: int, aged_calls: int, many_sessions: int) -> Growth:
    """In processes of their own with the limits off, since one session cannot make a thousand calls at once with them on.
    Young and old, few and many are measured in turn, for the same reason as the variants are."""
    environment = PRODUCT | {"MANGA_RATE_LIMIT": "off"}
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-bench-")))
        quiet, crowded = [
            await stack.enter_async_context(python(folder, "tests.load.in_process", worker=True, environment=environment))
            for _ in range(2)
        ]
        await asyncio.gather(quiet.ask("warm"), crowded.ask("warm"))
        await crowded.ask("fill", sessions=many_sessions)
        few, many = [], []
        for _ in range(ROUNDS):
            few.append((await quiet.ask("round", sessions=10, calls=60))["ms"])
            many.append((await crowded.ask("round", sessions=many_sessions, calls=60))["ms"])
        ages = [await quiet.ask("age", calls=aged_calls, sample=aged_calls // 10) for _ in range(aged_sessions)]
    return Growth(
        young_ms=statistics.median(age["young_ms"] for age in ages),
        old_ms=statistics.median(age["old_ms"] for age in ages),
        few_ms=statistics.median(few),
        many_ms=statistics.median(many),
        many=many_sessions,
    )
