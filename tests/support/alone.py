"""Tests that measure have the machine to themselves: while one runs, no other process of the run is at a test."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(folder: Path, *, alone: bool) -> Iterator[None]:
    """`folder` is the same for all processes. Whoever waits to be alone lets nobody else begin meanwhile."""
    with (folder / "next").open("w") as next_one, (folder / "running").open("w") as running:
        fcntl.flock(next_one, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(next_one, fcntl.LOCK_UN)
        yield
