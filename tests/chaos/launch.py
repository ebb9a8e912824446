"""The server as `python -m server serve` runs it, watched: where each answer's last byte left, and when the machine held it up.

    CHAOS_SAMPLES=FILE CHAOS_NAMES=FILE python -m tests.chaos.launch

SAMPLES takes a line of JSON for each answer, each call, each time that it was held up and, on SIGRTMIN, for what the process holds. NAMES lists
the host names that cannot be looked up just now, each with the seconds that finding out takes; all others below SUFFIX are this
machine. Only the resolver that asyncio asks is replaced, and only here.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import server.telemetry.emf
import server.wiring
from server.call import Call
from server.commands.cli import main
from server.telemetry.events import CallFinished
from server.telemetry.metrics import Metrics
from tests.chaos.heartbeat import beat

SUFFIX = ".chaos.test"
LOOPBACK = "127.0.0.1"


class Samples:
    """Each line is one write, so that threads do not mix theirs."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, kind: str, **fields: object) -> None:
        os.write(self._file, json.dumps({"kind": kind, **fields}).encode() + b"\n")

    def held(self, slot: int, seconds: float) -> None:
        self.write("held", slot=slot, seconds=seconds)

    def holdings(self, *_: object) -> None:
        """What would grow if something leaked."""
        gc.collect()
        tasks = [task.get_name() for task in asyncio.all_tasks()]
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        rss = pages * os.sysconf("SC_PAGE_SIZE")
        self.write("holdings", at=time.monotonic(), tasks=len(tasks), names=tasks, descriptors=descriptors, rss=rss)


def watched(samples: Samples) -> type[Metrics]:
    class Watched(Metrics):
        """The metrics of the product, and each of its figures as it comes."""

        def __call__(self, event: CallFinished) -> None:
            super().__call__(event)
            samples.write("call", id=event.call_id, outcome=event.outcome)

        def record_answer_sent(self, call: Call) -> None:
            super().record_answer_sent(call)
            samples.write(
                "answer",
                id=call.call_id,
                tool=call.name,
                transport=call.transport,
                arrived=call.arrived,
                sent=time.monotonic(),
                deadline=call.deadline.at if call.deadline else None,
                turn_ends=call.turn.ends.at if call.turn else None,
            )

    return Watched


def unreliable_names(path: Path) -> None:
    ask = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(host, str) or not host.endswith(SUFFIX):
            return ask(host, *arguments, **options)
        lost: dict[str, float] = json.loads(path.read_text())
        if (seconds := lost.get(host)) is None:
            return ask(LOOPBACK, *arguments, **options)
        time.sleep(seconds)  # a name server that is away: the fault that is played
        kind = socket.EAI_AGAIN if seconds else socket.EAI_NONAME
        raise socket.gaierror(kind, "Temporary failure in name resolution" if seconds else "Name or service not known")

    socket.getaddrinfo = getaddrinfo


if __name__ == "__main__":
    told = Samples(Path(os.environ["CHAOS_SAMPLES"]))
    unreliable_names(Path(os.environ["CHAOS_NAMES"]))
    server.telemetry.emf.SAMPLES_PER_LINE = 1  # a line a second: a fault lasts no longer than a few
    server.wiring.Metrics = watched(told)  # type: ignore[misc]
    signal.signal(signal.SIGRTMIN, told.holdings)
    beat(told.held)
    sys.exit(main(["serve", "--with-parent"]))
