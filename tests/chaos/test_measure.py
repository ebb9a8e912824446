"""What the machine takes is measured out of each sample, and no sample is left out for it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from typing import Any

from tests.chaos.bars import STRICT, Measured, Window
from tests.chaos.faults import Fault
from tests.chaos.heartbeat import SLOT_SECONDS, Held
from tests.chaos.measure import Told, measure

WORKING = """
import json, os, sys, time
from tests.chaos.heartbeat import beat

lines = []
beat(lambda slot, seconds: lines.append({"slot": slot, "seconds": seconds}))
os.sched_setaffinity(0, {int(sys.argv[1])})
since, worked = time.monotonic(), time.thread_time()
while time.thread_time() < worked + 0.5:
    pass
until = time.monotonic()
time.sleep(0.1)  # the last beats come
print(json.dumps({"lines": lines, "since": since, "until": until}))
"""
SPINNING = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


async def test_what_others_take_of_a_processor_is_told_to_the_slot_and_ones_own_work_is_not() -> None:
    """Half a second of work, on a processor that two others want all the time."""
    processor = str(min(os.sched_getaffinity(0)))
    spinning = [await asyncio.create_subprocess_exec(sys.executable, "-c", SPINNING, processor) for _ in range(2)]
    try:
        working = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKING, processor, stdout=PIPE)
        async with asyncio.timeout(60):
            said, _ = await working.communicate()
    finally:
        for each in spinning:
            each.kill()
            await each.wait()
    told = json.loads(said)
    since, until, held = told["since"], told["until"], Held.of(told["lines"])
    assert until - since > 0.8, "the others had their share"
    rest = until - since - held.seconds(since, until)
    assert 0.3 < rest < 0.5 + 0.2 * (until - since), "what is left is the work"
    assert held.share(since, until) > 0.5


def measured(took: float, since: float, until: float, deadline: float) -> Measured:
    """Of a search that came at 0, of what its client got a millisecond after it was answered, and of a server that was held up
    all the time from `since` on."""
    call: dict[str, Any] = {"tool": "search_manga_catalog", "transport": "sse", "deadline": deadline, "turn_ends": 3.0}
    got = {"began": 0.0, "total": deadline, "source": "live", "degraded": [], "new": True}
    answers, samples = [{**call, "arrived": 0.0, "sent": took}], [{**call, **got, "sent": 0.0, "done": took + 0.001}]
    slots = dict.fromkeys(range(round(since / SLOT_SECONDS), round(until / SLOT_SECONDS)), SLOT_SECONDS)
    fault = {"redis": Fault("latency", "slow", dark=False)}
    return measure("it", fault, Window(0.0, 0.0, 1.0), Told(answers, samples, Held(slots), Held({})))


def test_a_sample_that_the_machine_held_up_counts_without_that_time() -> None:
    """By so much less it took, and by what fell into its end it was less late: what was long before is no excuse."""
    for took, since, until, lasted, late_ms in (
        (0.25, 0.0, 0.0, 250, 150),
        (0.25, 0.11, 0.25, 110, 10),
        (0.25, 0.09, 0.20, 140, 40),
        (0.25, 0.0, 0.25, 0, -50),
        (0.25, 0.0, 0.04, 210, 150),
    ):
        found = measured(took, since, until, deadline=0.1)
        assert (round(found.server.most), round(found.worst_late_ms)) == (lasted, late_ms)
        assert (found.calls, found.late, found.over) == (1, late_ms > 20, late_ms > 50), "none is left out"
        assert bool(found.missed(STRICT)) is (late_ms > 20)
