"""The replacement of `sys.stderr`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from server.telemetry.log_output import QueuedStderr

ENDING = """
import sys, threading
from server.telemetry.log_output import never_wait_for_stderr
never_wait_for_stderr()
print("without an end", end="", file=sys.stderr)
thread = threading.Thread(target=lambda: 1 / 0)
thread.start(); thread.join()
raise RuntimeError("nobody foresaw it")
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_log_lines_and_print_output_are_written_whole(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    stderr = QueuedStderr(writing)
    handler = logging.StreamHandler(stderr)
    handler.emit(logging.LogRecord("x", logging.INFO, "", 0, "naïve %s", ("漫画",), None))
    print("half", end="", file=stderr)
    print(" and half \ud800", file=stderr)
    print("no end", end="", file=stderr)
    stderr.close()
    assert os.read(reading, 1000).decode() == "naïve 漫画\nhalf and half \\ud800\nno end"


def test_unread_stderr_drops_lines_and_reports_how_many_are_missing(
    pipe: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    reading, writing = pipe
    stderr = QueuedStderr(writing)
    stderr.lines._most_bytes = 200_000
    for _ in range(1000):
        stderr.write("." * 999 + "\n")
    dropped = stderr.lines.dropped
    left = (1000 - dropped) * 1000
    assert 0 < left <= 300_000
    while left:
        left -= len(os.read(reading, min(left, 65536)))
    stderr.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"{dropped} lines of this log are missing: stderr was not read as quickly as they came"
    ]


def test_tracebacks_at_exit_are_written() -> None:
    """Tracebacks of threads and of the process itself are written last."""
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("without an end")
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.endswith("RuntimeError: nobody foresaw it\n")


@pytest.mark.parametrize("last", ["raise RuntimeError(0)", "import os, server.telemetry.log_output as s; s.exit_now(0)"])
def test_exit_does_not_wait_for_a_reader_of_stderr(pipe: tuple[int, int], last: str) -> None:
    """The process leaves a megabyte of last lines, of which a pipe takes 64 KiB."""
    begin = "import sys; from server.telemetry.log_output import never_wait_for_stderr; never_wait_for_stderr()"
    code = f"{begin}\nfor _ in range(1000): sys.stderr.write('.' * 999 + '\\n')\n{last}"
    done = subprocess.run([sys.executable, "-c", code], stderr=pipe[1], timeout=60, check=False)
    assert done.returncode == (1 if last.startswith("raise") else 0)
