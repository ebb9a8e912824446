"""Errors and progress of commands, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

WRONG_USE = 2


def print_error(line: str, status: int = WRONG_USE) -> int:
    """Prints one line on stderr; returns the exit status."""
    print(f"manga-tools: {line}", file=sys.stderr)
    return status


def is_of_a_file(error: Exception) -> bool:
    """True for our own errors about settings and files, whose message is meant for the person at the keyboard."""
    return isinstance(error, ValueError) and type(error).__module__.startswith(("server.", "tools."))


WIDTH = 30
PATIENCE_SECONDS = 0.5


def progress_bar(stream: TextIO) -> Callable[[int, int, str], None] | None:
    """Returns a function that draws (done, total, what) on one line; None if `stream` is no terminal."""
    if not stream.isatty():
        return None
    started = time.monotonic()

    def draw(done: int, total: int, what: str) -> None:
        if time.monotonic() - started < PATIENCE_SECONDS:
            return
        filled = WIDTH * done // max(1, total)
        bar = "█" * filled + "·" * (WIDTH - filled)
        end = "\n" if done >= total else ""
        stream.write(f"\r{bar} {done:,}/{total:,} {what:<24}{end}")
        stream.flush()

    return draw
