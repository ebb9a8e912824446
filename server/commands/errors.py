"""What a command has to say when it cannot do what was asked: one line for the person who started it."""

from __future__ import annotations

import sys

WRONG_USE = 2


def print_error(line: str, status: int = WRONG_USE) -> int:
    """Says it on stderr. Returns the status to exit with."""
    print(f"manga-tools: {line}", file=sys.stderr)
    return status
