"""Threads for work that may never end: a disk of the network that hangs answers nobody, and cannot be told to stop.

They are daemons, since the end of the process waits for any others, those of an executor included.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """At most so many at once: one that hangs keeps its place, and who finds none in time starts none."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._places = asyncio.Semaphore(most)

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """Raises TimeoutError, OSError where no thread can be started, and what the work raises. What comes later than that
        is nobody's."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def ended(result: T | None, error: BaseException | None) -> None:
            self._places.release()
            if not done.done():
                done.set_exception(error) if error else done.set_result(result)  # type: ignore[arg-type]

        def on_a_thread() -> None:
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = work(), None
            except BaseException as error:
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(ended, *outcome)

        async with asyncio.timeout(seconds):
            await self._places.acquire()
            try:
                threading.Thread(target=on_a_thread, name=self._name, daemon=True).start()
            except RuntimeError as error:
                self._places.release()
                raise OSError(errno.EAGAIN, "no thread can be started") from error
            return await done
