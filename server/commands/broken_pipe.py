"""Output that nobody reads any more: `doctor --json | head` is no error."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable

BROKEN_PIPE = 128 + signal.SIGPIPE
"""The status that a shell gives to what SIGPIPE ends. The signal itself stays off, or a lost connection would be the end."""


def while_read(main: Callable[[], int]) -> int:
    """Returns the status of a command; ends it quietly when whoever read its output has left."""
    try:
        try:
            return main()
        finally:  # SystemExit of argparse included: what is still in the buffer is written now or never
            sys.stdout.flush()
    except BrokenPipeError:
        if not _left_by_its_reader(sys.stdout.fileno()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the interpreter, which flushes again
        return BROKEN_PIPE


def _left_by_its_reader(pipe: int) -> bool:
    watched = select.poll()
    watched.register(pipe, 0)
    return bool(watched.poll(0))
