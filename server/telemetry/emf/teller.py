"""Writes the lines, one batch every ten seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from prometheus_client import CollectorRegistry

from server.telemetry.emf.document import document
from server.telemetry.emf.readings import Readings
from session.resilience.clocks import WallClock

LOOKS = 10
LOOK_SECONDS = 1.0
"""Between two looks at the calls under way; ten of them to a line."""

OFF = "off"

Run = Callable[[str, Callable[[], Coroutine[Any, Any, None]]], object]
Write = Callable[[str], object]


def to_stderr(text: str) -> None:
    """Hands over to the writer of the log, which waits for nobody: without the log's prefix, which would make it no JSON."""
    sys.stderr.write(text)


class Teller:
    """Every process tells for itself; CloudWatch adds up. Lines hold counts, states and the names of backends."""

    def __init__(
        self, namespace: str, registry: CollectorRegistry, write: Write = to_stderr, wall: WallClock = time.time
    ) -> None:
        self._namespace, self._write, self._wall = namespace, write, wall
        self._readings = Readings(registry)

    async def keep(self) -> None:
        """Runs until cancelled, and tells the rest then: the last calls of a task that is stopped count too."""
        try:
            while True:
                for _ in range(LOOKS):
                    await asyncio.sleep(LOOK_SECONDS)
                    self._readings.look()
                self.tell()
        finally:
            self.tell()

    def tell(self) -> None:
        self._write("".join(line + "\n" for line in self.lines()))

    def lines(self) -> Iterator[str]:
        """Returns those of now: one of what has no dimension, and one for each backend and replica."""
        now = round(self._wall() * 1000)
        for value, rows in self._readings.rows().items():
            dimension = rows[0][0].dimension
            yield document(self._namespace, now, rows, {dimension: value} if dimension and value else {})


def tell_emf(namespace: str, registry: CollectorRegistry, run: Run) -> None:
    """Has the numbers told by a task of `run`, where MANGA_EMF is a namespace."""
    if namespace != OFF:
        run("metrics for CloudWatch", Teller(namespace, registry).keep)
