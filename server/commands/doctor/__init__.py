"""`python -m server doctor`: every dependency, what is wrong with it, and what to do about it.

All at once, without the application around them, and over within some five seconds whatever hangs: a name server, a
cluster, a disk.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from server.commands.doctor import report
from server.commands.doctor.check import Check
from server.commands.doctor.checks import checks_of
from server.commands.doctor.report import Finding
from server.commands.doctor.threads import Unawaited
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis, Problem

MOST_SECONDS = 4.5
HEAD_START_SECONDS = 1.0


async def examine(settings: Settings, *, as_json: bool = False, most_seconds: float = MOST_SECONDS) -> int:
    """Prints a table, or JSON. Exit status 0 when everything is well, 1 when something is not, what has not answered within
    `most_seconds` among it."""
    asyncio.get_running_loop().set_default_executor(Unawaited())
    started = time.monotonic()
    findings = await _findings(settings, Deadline.after(most_seconds))
    seconds = time.monotonic() - started
    well = all(each.state == OK for each in findings)
    print((report.as_json if as_json else report.as_table)(findings, well, seconds))
    return 0 if well else 1


async def _findings(settings: Settings, deadline: Deadline) -> list[Finding]:
    async with AsyncExitStack() as stack:
        checks = await checks_of(settings, stack)
        where, embedding = checks.pop("embedder")
        others = [asyncio.create_task(_found(name, at, check, deadline)) for name, (at, check) in checks.items()]
        # An encoder is loaded at the cost of everything else in the process, and clocks are running.
        await asyncio.wait(others, timeout=HEAD_START_SECONDS)
        embedder = await _found("embedder", where, embedding, deadline)
        return [*await asyncio.gather(*others), embedder]


async def _found(name: str, where: str, check: Check, deadline: Deadline) -> Finding:
    started = time.monotonic()
    try:
        async with asyncio.timeout(deadline.remaining()):
            diagnosis = await check(deadline)
    except TimeoutError:
        diagnosis = Diagnosis.of(Problem("it does not answer", "look at its load and log"))
    latency_ms = round((time.monotonic() - started) * 1000, 1)
    return Finding(
        name, where, diagnosis.state, latency_ms, diagnosis.version, diagnosis.detail.rstrip("."), diagnosis.remedy
    )
