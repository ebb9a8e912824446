"""Threads that the end does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def on_own_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Begins it at once. Python waits at its end for threads of its executors, however long one hangs; not for this one."""
    promised: Future[T] = Future()

    def run() -> None:
        if not promised.set_running_or_notify_cancel():
            return
        try:
            promised.set_result(work())
        except BaseException as error:  # it is the caller's, as with every executor
            promised.set_exception(error)

    Thread(target=run, daemon=True, name=name).start()
    return promised
