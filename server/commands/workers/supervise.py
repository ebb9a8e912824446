"""`python -m server serve` with MANGA_WORKERS: what is there before the first worker is, and what a worker is."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from server.backends import EMBEDDED, Progress
from server.backends.preload import preload
from server.commands.errors import print_error
from server.commands.place import say_listening
from server.commands.serve import end_with_parent, listen, serve_at
from server.commands.workers.folder import own_folder
from server.commands.workers.place import WorkerPlace
from server.commands.workers.supervisor import Supervisor
from server.commands.workers.valkey import SharedValkey
from server.config.parsing import SettingError
from server.config.relay import AUTO
from server.config.settings import Settings
from server.runtime.signals import on_signals
from server.telemetry.log.polled import leave_stderr_to_no_thread
from server.telemetry.log.setup import log_to_stderr
from server.telemetry.log.stderr import leave, never_wait_for_stderr

logger = logging.getLogger("server.commands.serve")

M_ARENA_MAX = -8
Serve = Callable[[WorkerPlace, asyncio.Event], None]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Read when NumPy is imported: a fork would lose its threads, and searches want none (tools/store/backends/blas.py)."""


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
    on_signals(stop)
    place.stop_without_supervisor(stop)
    await serve_at(place, settings, stop)


def _unforeseen() -> int:
    traceback.print_exc(file=sys.stderr)
    return 1


def _relay(settings: Settings, folder: Path) -> str:
    """Workers who share what only they have need nobody else to reach one another."""
    return f"unix://{folder / 'relay'}" if settings.relay == AUTO else settings.relay
