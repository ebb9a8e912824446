"""Threads that the end does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class Unawaited(ThreadPoolExecutor):
    """Threads that nobody waits for at the end: a name server or a disk that hangs would hold up the report otherwise."""

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        promised: Future[T] = Future()

        def run() -> None:
            if not promised.set_running_or_notify_cancel():
                return
            try:
                promised.set_result(work(*arguments, **named))
            except BaseException as error:  # it is the caller's, as with every executor
                promised.set_exception(error)

        Thread(target=run, daemon=True, name="doctor").start()
        return promised

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing."""
