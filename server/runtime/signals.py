"""Signals that end a process, as events: the first asks for an end, a later one is the end."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Any

TOGETHER_SECONDS = 1.0
"""A signal to the whole process group comes twice, because make passes it on: so close together they are one."""

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})
"""Each of them would end the process at once, and what it has open without an answer."""


def heeded() -> list[signal.Signals]:
    """Those that whoever started the process did not have ignored, as nohup does."""
    return [each for each in ENDING if each == signal.SIGINT or signal.getsignal(each) is not signal.SIG_IGN]


def on_signals(stop: asyncio.Event) -> None:
    """Sets `stop` at the first signal; a later one ends the process at once."""
    loop = asyncio.get_running_loop()
    first = 0.0

    def handle() -> None:
        nonlocal first
        if not stop.is_set():
            first = loop.time()
            stop.set()
        elif loop.time() - first > TOGETHER_SECONDS:
            os._exit(1)

    for each in heeded():
        loop.add_signal_handler(each, handle)


async def first_of(work: asyncio.Task[Any], stop: asyncio.Event) -> None:
    """Waits for the signal, or for the work to end by itself."""
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    with suppress(asyncio.CancelledError):
        await stopped
