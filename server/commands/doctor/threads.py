"""Threads that the end does not wait for, as an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from server.runtime.threads import on_own_thread

T = TypeVar("T")


class Unawaited(ThreadPoolExecutor):
    """A name server or a disk that hangs would hold up the report otherwise."""

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        return on_own_thread(partial(work, *arguments, **named), "doctor")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing."""
