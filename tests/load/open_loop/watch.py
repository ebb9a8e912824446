"""What a run used: processor time of each process and of the rest of the machine, and memory."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.load.procfs import TICK_MS, cpu_ms, rss_mb

SAMPLE_SECONDS = 1.0


@dataclass(slots=True)
class Watched:
    name: str
    pid: int
    rss_mb: float = 0.0
    _began: float = field(default=0.0)

    def begin(self) -> None:
        self._began = cpu_ms(self.pid)

    def sample(self) -> None:
        self.rss_mb = max(self.rss_mb, rss_mb(self.pid))

    def used_ms(self) -> float:
        return cpu_ms(self.pid) - self._began


class Usage:
    @staticmethod
    async def during(
        watched: Sequence[Watched], begins: float, seconds: float, answers: Callable[[], int]
    ) -> dict[str, Any]:
        """From `begins` (loop time) on, for so long: CPU of each in ms, how many answers came, the machine's CPU in cores."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(begins - loop.time())
        own, busy, before = time.process_time(), machine_busy_ms(), answers()
        for each in watched:
            each.begin()
        while (left := begins + seconds - loop.time()) > 0:
            await asyncio.sleep(min(left, SAMPLE_SECONDS))
            for each in watched:
                each.sample()
        passed = loop.time() - begins
        return {
            "cpu_ms": {each.name: each.used_ms() for each in watched},
            "client_cpu_ms": (time.process_time() - own) * 1000,
            "machine_cores": (machine_busy_ms() - busy) / 1000 / passed,
            "rss_mb": {each.name: each.rss_mb for each in watched},
            "answers": answers() - before,
            "seconds": passed,
            "load_average": os.getloadavg()[0],
        }


def machine_busy_ms() -> float:
    """All processors, all processes (proc(5), first line of `stat`: user, nice, system; irq, softirq, steal)."""
    fields = [int(word) for word in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    return (sum(fields[:3]) + sum(fields[5:8])) * TICK_MS


def threads_and_files(pid: int) -> tuple[int, int]:
    return len(list(Path(f"/proc/{pid}/task").iterdir())), len(list(Path(f"/proc/{pid}/fd").iterdir()))
