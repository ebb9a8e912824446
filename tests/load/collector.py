"""What Python's garbage collector does in a server, told by the server itself while it is measured.

The server writes six numbers into a file that it has mapped (gc.callbacks), whoever measures reads them: no signal, no request,
and nothing between two looks of the collector.
"""

from __future__ import annotations

import gc
import mmap
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GENERATIONS = 3
WRITTEN = struct.Struct("=6d")


@dataclass(slots=True)
class Collected:
    """`looks` at the young, the middle and the old; `seconds` in all, the `longest` one, and how many objects were `freed`:
    those that referred to each other in a circle."""

    looks: tuple[int, ...] = (0,) * GENERATIONS
    seconds: float = 0.0
    longest: float = 0.0
    freed: int = 0

    @classmethod
    def read(cls, file: Path) -> Collected:
        *looks, seconds, longest, freed = WRITTEN.unpack(file.read_bytes())
        return cls(tuple(map(int, looks)), seconds, longest, int(freed))

    def since(self, before: Collected) -> Collected:
        """What came after `before`; the longest is that since `forget_longest`."""
        looks = tuple(now - then for now, then in zip(self.looks, before.looks, strict=True))
        return Collected(looks, self.seconds - before.seconds, self.longest, self.freed - before.freed)

    def add(self, other: Collected) -> None:
        self.looks = tuple(map(sum, zip(self.looks, other.looks, strict=True)))
        self.seconds += other.seconds
        self.longest = max(self.longest, other.longest)
        self.freed += other.freed


def made(file: Path) -> Path:
    """With nothing collected yet."""
    file.write_bytes(WRITTEN.pack(*(0.0,) * 6))
    return file


def forget_longest(file: Path) -> Collected:
    """What was collected so far; the longest pause is looked for anew."""
    so_far = Collected.read(file)
    with file.open("r+b") as there:
        there.seek(WRITTEN.size - 16)
        there.write(struct.pack("=d", 0.0))
    return so_far


class Watch:
    """In the process that is measured: tells `file` of each look, for as long as the process lives."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as there:
            self._told = mmap.mmap(there.fileno(), WRITTEN.size)
        self._began = 0.0

    def begin(self) -> None:
        gc.callbacks.append(self._look)

    def _look(self, phase: str, about: dict[str, Any]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
            return
        took = time.perf_counter() - self._began
        *looks, seconds, longest, freed = WRITTEN.unpack_from(self._told)
        looks[about["generation"]] += 1
        WRITTEN.pack_into(self._told, 0, *looks, seconds + took, max(longest, took), freed + about["collected"])
