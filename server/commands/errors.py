from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO


def print_error(line: str, status: int = 2) -> int:
    print(f"manga-tools: {line}", file=sys.stderr)
    return status


def is_user_error(error: Exception) -> bool:
    """True for a `ValueError` whose class this program defines: its message is written for the user."""
    return isinstance(error, ValueError) and type(error).__module__.startswith(("server.", "tools."))


def format_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def progress_bar(stream: TextIO) -> Callable[[int, int, str], None] | None:
    """Returns a function that draws (done, total, label) as a bar; None if `stream` is not a terminal."""
    if not stream.isatty():
        return None
    started = time.monotonic()

    def draw(done: int, total: int, what: str) -> None:
        if time.monotonic() - started < 0.5:
            return
        bar = ("█" * (30 * done // max(1, total))).ljust(30, "·")
        end = "\n" if done >= total else ""
        stream.write(f"\r{bar} {done:,}/{total:,} {what:<24}{end}")
        stream.flush()

    return draw
