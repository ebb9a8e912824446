"""`python -m tests.load.relay_faults`: what calls become when a replica or a worker is killed, and in a rolling restart.

Clients behind a proxy without affinity ask all the time, and connect anew when their stream or session ends. A call that was
refused was not taken: it is asked again. Lost is one that was taken and got no answer, be that an error or the end of its stream.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.load.procfs import is_worker_or_server
from tests.load.restless_clients import ANSWERED, FAILED, REFUSED, SILENT, WRONG, RestlessClient, Told
from tests.support.loop_thread import Held, LoopThread
from tests.support.process import descendants
from tests.support.round_robin import round_robin
from tests.support.serving import Serving, start
from tests.support.valkey import private_valkey

WELL_SECONDS = 3.0
SETTINGS = {"MANGA_EMBEDDER": "none", "MANGA_RATE_LIMIT": "off"}


@dataclass(frozen=True, slots=True)
class Plan:
    """`clients` that think for `think` seconds between calls, `seconds` before the fault and after it."""

    clients: int = 60
    think: float = 0.6
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`allowed` calls may be lost: those that were under way when something was killed. `well` is how many seconds after
    that the last call was refused or lost."""

    fault: str
    told: Told
    allowed: int
    well: float | None = None

    def missed(self) -> list[str]:
        found = []
        if self.told.lost > self.allowed:
            found.append(f"{self.told.lost} calls lost of {self.allowed} that may be")
        if self.told.counts[SILENT] or self.told.counts[WRONG]:
            found.append("calls that were never answered, or wrongly")
        if self.well is not None and self.well > WELL_SECONDS:
            found.append(f"{self.well:.1f} s until all was well (bar {WELL_SECONDS:g})")
        return found

    def line(self) -> str:
        counts, missed = self.told.counts, self.missed()
        well = "" if self.well is None else f", well after {max(self.well, 0.0):.1f} s"
        lost = f"{self.told.lost} lost ({counts[FAILED]} told by an error) of {self.allowed} allowed"
        said = f"{self.fault}: {counts[ANSWERED]} answered, {counts[REFUSED]} refused and asked again, {lost}{well}"
        return f"{'MISSED' if missed else 'met   '}  {said}" + "".join(
            f"\n        {each}" for each in [*missed, self.told.first_lost] if each
        )


@dataclass(slots=True)
class Replica:
    """One that keeps its port however often it is started."""

    folder: Path
    settings: dict[str, str]
    serving: Serving

    @classmethod
    def started(cls, folder: Path, **settings: str) -> Replica:
        return cls(folder, settings, start(folder, folder.parent, **settings))

    def start_again(self) -> None:
        self.serving = start(self.folder, self.folder.parent, **self.settings, MANGA_PORT=str(self.serving.port))


@contextmanager
def loaded(urls: Sequence[str], plan: Plan) -> Iterator[Told]:
    """The clients, in a thread of their own; a first while has passed."""
    thread, told = LoopThread(), Told()
    held = Held(thread, lambda: _asking(urls, plan, told))
    try:
        time.sleep(plan.seconds)
        yield told
        time.sleep(plan.seconds)
    finally:
        held.close()
        thread.close()


@asynccontextmanager
async def _asking(urls: Sequence[str], plan: Plan, told: Told) -> AsyncIterator[None]:
    over = asyncio.Event()
    async with round_robin(urls) as (port, _):
        clients = [RestlessClient(port, 1000 * number + number % 2, plan.think, told) for number in range(plan.clients)]
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.run(over))
                await asyncio.sleep(plan.think / plan.clients)  # never all at once
            yield
            over.set()


@contextmanager
def two_replicas() -> Iterator[list[Replica]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-faults-")))
        redis = stack.enter_context(private_valkey())
        settings = {**SETTINGS, "MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}"}
        replicas = []
        for name in ("one", "two"):
            replica = Replica.started(folder / name, **settings)
            stack.callback(lambda replica=replica: replica.serving.kill())
            replicas.append(replica)
        yield replicas


def killed_replica(plan: Plan) -> Verdict:
    with two_replicas() as (one, two), loaded([one.serving.url, two.serving.url], plan) as told:
        before, at = told.under_way, time.monotonic()
        one.serving.kill()
        allowed = max(before, told.under_way)
        time.sleep(2 * WELL_SECONDS)
        well = told.last - at
        one.start_again()
    return Verdict("a replica killed (-9)", told, allowed, well)


def killed_worker(plan: Plan) -> Verdict:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-faults-")))
        server = Replica.started(folder / "one", **SETTINGS, MANGA_WORKERS="2").serving
        stack.callback(server.kill)
        told = stack.enter_context(loaded([server.url], plan))
        worker = next(pid for pid in descendants(server.pid) if is_worker_or_server(pid))
        before, at = told.under_way, time.monotonic()
        os.kill(worker, signal.SIGKILL)
        allowed = max(before, told.under_way)
        time.sleep(2 * WELL_SECONDS)
        return Verdict("a worker killed (-9)", told, allowed, told.last - at)


def rolling_restart(plan: Plan) -> Verdict:
    with two_replicas() as (one, two), loaded([one.serving.url, two.serving.url], plan) as told:
        for each in (one, two):
            each.serving.stop()
            each.start_again()
            time.sleep(plan.seconds)
    return Verdict("a rolling restart of both", told, allowed=0)


FAULTS: dict[str, Callable[[Plan], Verdict]] = {
    "replica": killed_replica,
    "worker": killed_worker,
    "rolling": rolling_restart,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.relay_faults", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--clients", type=int, default=Plan().clients)
    parser.add_argument("--think", type=float, default=Plan().think, help="seconds between two calls of a client")
    parser.add_argument("--seconds", type=float, default=Plan().seconds, help="before and after each fault")
    parser.add_argument("--only", nargs="*", choices=list(FAULTS))
    asked = parser.parse_args(arguments)
    missed = False
    for name in asked.only or FAULTS:
        verdict = FAULTS[name](Plan(asked.clients, asked.think, asked.seconds))
        print(verdict.line(), flush=True)
        missed = missed or bool(verdict.missed())
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
