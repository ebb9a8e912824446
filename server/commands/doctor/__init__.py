"""`python -m server doctor`: every dependency, what is wrong with it, and what to do about it.

All at once, without the application around them, and over within some five seconds whatever hangs: a name server, a
cluster, a disk.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

from server.commands.doctor.checks import checks_of
from server.config.settings import Settings
from server.runtime.background import run_on_thread
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Check, Diagnosis, Problem

T = TypeVar("T")

MOST_SECONDS = 4.5
HEAD_START_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """`latency_ms` is what the whole examination took, connecting included. `where` shows no secret."""

    name: str
    where: str
    state: str
    latency_ms: float
    version: str | None
    detail: str
    remedy: str | None


class Unawaited(ThreadPoolExecutor):
    """A name server or a disk that hangs would hold up the report otherwise."""

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        return run_on_thread(partial(work, *arguments, **named), "doctor")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing."""


async def examine(settings: Settings, *, as_json: bool = False, most_seconds: float = MOST_SECONDS) -> int:
    """Prints a table, or JSON. Exit status 0 when everything is well, 1 when something is not, what has not answered within
    `most_seconds` among it."""
    asyncio.get_running_loop().set_default_executor(Unawaited())
    started = time.monotonic()
    findings = await _findings(settings, Deadline.after(most_seconds))
    seconds = time.monotonic() - started
    well = all(each.state == OK for each in findings)
    print((_as_json if as_json else _as_table)(findings, well, seconds))
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


def _as_table(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    rows = [("dependency", "where", "state", "ms", "version", "what to know"), *map(_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    remedies = [f"{each.name}: {each.remedy}" for each in findings if each.remedy]
    ending = f"{'all well' if well else 'not well'}, in {seconds:.1f} s"
    return "\n".join([*lines, "", *(["what to do", *(f"  {line}" for line in remedies), ""] if remedies else []), ending])


def _row(finding: Finding) -> tuple[str, ...]:
    latency = f"{finding.latency_ms:.1f}"
    return (finding.name, finding.where, finding.state, latency, finding.version or "", finding.detail)


def _as_json(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    report = {"well": well, "seconds": round(seconds, 2), "dependencies": [asdict(each) for each in findings]}
    return json.dumps(report, ensure_ascii=False, indent=2)
