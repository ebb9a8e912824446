"""`python -m server doctor`: prints every dependency, its problem and the remedy. Checks all at once, but the embedder last,
and does not start the application. Takes about five seconds at most, even if a dependency hangs."""

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

from server.commands.doctor.checks import REMEDIES, list_checks
from server.commands.errors import format_table
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DOWN, OK, Check, Diagnosis
from session.resilience.tasks import run_on_thread

T = TypeVar("T")
MOST_SECONDS = 4.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the report. `state` is OK, DEGRADED or DOWN. `latency_ms` includes connecting; `where` has no secrets."""

    name: str
    where: str
    state: str
    latency_ms: float
    version: str | None
    detail: str
    remedy: str | None


class DaemonThreads(ThreadPoolExecutor):
    """An executor on daemon threads, whose shutdown does not wait for a hanging name server or disk."""

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        return run_on_thread(partial(work, *arguments, **named), "doctor")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        pass


async def examine(settings: Settings, *, as_json: bool = False, most_seconds: float = MOST_SECONDS) -> int:
    """Prints the report as a table or as JSON. Returns exit status 0 if every dependency was found ok within `most_seconds`,
    else 1. Replaces the event loop's default executor, so that hanging threads do not delay the exit."""
    asyncio.get_running_loop().set_default_executor(DaemonThreads())
    started = time.monotonic()
    findings = await _examine_all(settings, Deadline.after(most_seconds))
    seconds = time.monotonic() - started
    well = all(each.state == OK for each in findings)
    if as_json:
        report = {"well": well, "seconds": round(seconds, 2), "dependencies": [asdict(each) for each in findings]}
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        print(_format_report(findings, well, seconds))
    return 0 if well else 1


async def _examine_all(settings: Settings, deadline: Deadline) -> list[Finding]:
    async with AsyncExitStack() as stack:
        checks = await list_checks(settings, stack)
        where, check = checks.pop("embedder")
        others = [asyncio.create_task(_examine(name, at, each, deadline)) for name, (at, each) in checks.items()]
        await asyncio.wait(others, timeout=1.0)  # loading the encoder would distort the others' latencies
        embedder = await _examine("embedder", where, check, deadline)
        return [*await asyncio.gather(*others), embedder]


async def _examine(name: str, where: str, check: Check, deadline: Deadline) -> Finding:
    started = time.monotonic()
    try:
        async with asyncio.timeout(deadline.remaining()):
            found = await check(deadline)
    except TimeoutError:
        found = Diagnosis(DOWN, "it does not answer", "look at its load and log")
    except Exception as error:
        if type(error).__name__ not in REMEDIES:
            raise
        found = Diagnosis(DOWN, str(error), REMEDIES[type(error).__name__])
    latency_ms = round((time.monotonic() - started) * 1000, 1)
    return Finding(name, where, found.state, latency_ms, found.version, found.detail.rstrip("."), found.remedy)


def _format_report(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    rows = [
        (each.name, each.where, each.state, f"{each.latency_ms:.1f}", each.version or "", each.detail) for each in findings
    ]
    table = format_table([("dependency", "where", "state", "ms", "version", "what to know"), *rows])
    advice = {each.remedy: [one.name for one in findings if one.remedy == each.remedy] for each in findings if each.remedy}
    remedies = [f"  {', '.join(names)}: {remedy}" for remedy, names in advice.items()]
    ending = f"{'all well' if well else 'not well'}, in {seconds:.1f} s"
    return "\n".join([table, "", *(["what to do", *remedies, ""] if remedies else []), ending])
