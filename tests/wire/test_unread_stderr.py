"""An unread stderr: a paused terminal, a log driver that is behind, a parent with `stderr=PIPE`."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.raw import INITIALIZE, call, post_2026
from tests.support.serving import ROOT, clean_environment

CALLS = int(os.environ.get("TEST_FAILING_CALLS", "1000"))
"""10,000 take a minute."""
AT_ONCE = 32
START_SECONDS = 45.0
END_SECONDS = 30.0
"""That it ends at all: how soon is promised, and measured, in tests/chaos/test_lifecycle_endings.py."""
PAGE = 4096
"""The smallest pipe that there is."""
LOUD = {"MANGA_EMBEDDER": "none", "MANGA_RATE_LIMIT": "off", "MANGA_LOG_LEVEL": "debug", "MANGA_LOG_TOOL_CALLS": "all"}
FAILURES = ("VALIDATION_ERROR", "SERVER_BUSY")
"""A busy machine has the server refuse some; both are answers."""
WRONG = call("get_manga_details", {"title_id": 7})


@pytest.fixture
def full_pipe() -> Iterator[int]:
    """The end of a pipe that takes not one byte more, whose other end nobody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"." * size)
    os.set_blocking(writing, True)
    yield writing
    os.close(writing)
    os.close(reading)


@contextmanager
def child(command: str, cache: Path, stderr: int, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "server", command],
        cwd=ROOT,
        env=clean_environment(cache, {**LOUD, **settings}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was still to be flushed has no reader any more
                pipe.close()


async def answers(port: int) -> None:
    give_up = time.monotonic() + START_SECONDS
    async with httpx.AsyncClient() as client:
        while time.monotonic() < give_up:
            with suppress(httpx.HTTPError):
                if (await client.get(f"http://127.0.0.1:{port}/healthz", timeout=1)).status_code == 200:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError("the server does not answer")


async def test_http_server_with_unread_stderr_answers_failing_calls_and_ends(cache: Path, full_pipe: int) -> None:
    """Each failing call would log a line, which cannot be written; lost lines are counted."""
    port = free_port()
    with child("serve", cache, full_pipe, MANGA_PORT=str(port)) as process:
        await answers(port)
        left = iter(range(CALLS))

        async def ask() -> None:
            for _ in left:
                found = await post_2026(port, WRONG)
                assert found["result"]["structuredContent"]["error"]["name"] in FAILURES

        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
        process.send_signal(signal.SIGTERM)
        assert process.wait(END_SECONDS) == 0


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def questions(how_many: int) -> bytes:
    return b"".join(line({**WRONG, "id": number}) for number in range(how_many))


@pytest.mark.parametrize("ending", ["eof", "sigterm"])
async def test_stdio_server_with_unread_stderr_answers_failing_calls_and_ends(
    cache: Path, full_pipe: int, ending: str
) -> None:
    """Two calls are sent at a time, so that neither side waits for the other's pipe."""
    with child("stdio", cache, full_pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        talk = asyncio.to_thread
        await talk(_say, process, line(INITIALIZE))
        assert json.loads(await talk(process.stdout.readline))["id"] == "init"
        say = asyncio.create_task(talk(_say, process, questions(CALLS)))
        seen = set()
        for _ in range(CALLS):
            answer = json.loads(await talk(process.stdout.readline))
            assert answer["result"]["structuredContent"]["error"]["name"] in FAILURES
            seen.add(answer["id"])
        await say
        assert seen == set(range(CALLS))
        if ending == "eof":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        assert await talk(process.wait, END_SECONDS) == 0


@pytest.mark.parametrize("ending", ["eof", "sigterm"])
async def test_stdio_server_with_unread_answers_ends(cache: Path, full_pipe: int, ending: str) -> None:
    """A parent writes and reads nothing: answers fill the pipe, and the process ends all the same."""
    with child("stdio", cache, full_pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PAGE)
        await asyncio.to_thread(_say, process, line(INITIALIZE) + questions(100))
        await asyncio.to_thread(_until_full, process.stdout.fileno())
        if ending == "eof":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, END_SECONDS) == 0


def _say(process: subprocess.Popen[bytes], lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(lines)
    process.stdin.flush()


def _until_full(fd: int) -> None:
    """Until the pipe is as good as full; a hundred answers do not fit."""
    waiting, give_up = array("i", [0]), time.monotonic() + START_SECONDS
    while waiting[0] < PAGE / 2 and time.monotonic() < give_up:
        fcntl.ioctl(fd, termios.FIONREAD, waiting)
        time.sleep(0.01)
    assert waiting[0] >= PAGE / 2
