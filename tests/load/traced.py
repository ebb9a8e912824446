"""`python -m tests.load.traced`: what traces cost, in processor time a call: off, at the default ratio, and of every call.

One process has all three servers, embedded, and asks them in turns, so that whatever else the machine does happens to all
of them; the collector is another process, as it is elsewhere. What the thread of the exporter uses counts: each round waits
until the spans would have left. Traces of every call come from callers too; here they come from OTEL_TRACES_SAMPLER=always_on.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import Settings
from server.wiring import open_app
from tests.support.collector import collecting

OFF, DEFAULT, ALL = "off", "on, default ratio", "on, every call"
SAMPLERS = {OFF: None, DEFAULT: "", ALL: "always_on"}
SCHEDULE_MS = 800
"""A batch leaves once a round, as it does every five seconds elsewhere: what it costs to post one is shared by many calls."""
LEAVE_SECONDS = 1.0
KINDS = {
    "cached": ("search_manga_catalog", {"query": "one piece", "max_results": 5}),
    "live": ("check_inventory", {"title_ids": ["manga-000001", "manga-000002"]}),
}


def _collect(told: Connection) -> None:
    with collecting() as collector:
        told.send(collector.endpoint)
        told.recv()
        told.send(len(collector.spans))


@contextmanager
def collector() -> Iterator[tuple[str, list[int]]]:
    """The address of one in a process of its own, and at the end how many spans came."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_collect, args=(theirs,), daemon=True)
    process.start()
    came: list[int] = []
    try:
        yield ours.recv(), came
    finally:
        ours.send("the end")
        came.append(ours.recv())
        process.join()


async def _open(stack: AsyncExitStack, endpoint: str, sampler: str | None, folder: str) -> Application:
    environ = {} if sampler is None else {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_SAMPLER": sampler}
    settings = Settings(embedder="none", data_dir=Path(folder), rate_limit=False)
    with patch.dict(os.environ, {**environ, "OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_MS)}):
        return await stack.enter_async_context(open_app(settings, local=True))


async def _milliseconds(app: Application, kind: str, calls: int) -> float:
    """Processor time of one call, what is done for it later included."""
    tool, arguments = KINDS[kind]
    registered = app.registry.get(tool)
    assert registered is not None
    session, began = uuid.uuid4().hex, time.process_time()
    for number in range(calls):
        metadata = RequestMetadata(session=session, turn=f"{session}-{number // 4}")
        call = Call(uuid.uuid4().hex, registered, dict(arguments), metadata, time.monotonic())
        outcome = await app.pipeline.run(call)
        assert outcome.failure is None, outcome.failure
    await asyncio.sleep(LEAVE_SECONDS)
    return (time.process_time() - began) * 1000 / calls


async def measure(kind: str, rounds: int, calls: int, names: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds a call of each round, by what is on."""
    found: dict[str, list[float]] = {name: [] for name in names}
    with collector() as (endpoint, came), tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            apps = {name: await _open(stack, endpoint, SAMPLERS[name], folder) for name in names}
            for app in apps.values():
                await _milliseconds(app, kind, calls)
            for turn in range(rounds):
                for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                    found[name].append(await _milliseconds(apps[name], kind, calls))
    if ALL in names:
        assert came[0] >= rounds * calls, "the collector has seen too few"
    return found


def report(kind: str, found: dict[str, list[float]]) -> str:
    """Medians, and the ratio to what is off: of each round, and of those the median."""
    lines = [f"{kind} call, ms of processor time"]
    for name, each in found.items():
        ratios = [on / off for on, off in zip(each, found[OFF], strict=True)]
        low, *_, high = statistics.quantiles(ratios, n=4)
        lines.append(
            f"  {name:20}{statistics.median(each):8.3f}   x {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.traced", description="What traces cost a call.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=250, help="of each round")
    given = parser.parse_args(arguments)
    for kind in KINDS:
        print(report(kind, asyncio.run(measure(kind, given.rounds, given.calls, tuple(SAMPLERS)))), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
