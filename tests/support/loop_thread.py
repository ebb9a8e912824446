"""An event loop in a thread of its own, so that connections can outlive the test that opened them.

A connection's context managers have to be entered and left by the same task; here each has a task that does nothing else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
SECONDS = 30.0


class LoopThread:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="clients", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T], seconds: float = SECONDS) -> T:
        """Runs it there and waits for it here. Raises TimeoutError."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self.loop).result(seconds + 5)

    async def ask(self, work: Coroutine[Any, Any, T], seconds: float = SECONDS) -> T:
        """Runs it there and awaits it here. Raises TimeoutError."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self.loop))

    def close(self) -> None:
        self.run(self._settled())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(SECONDS)
        self.loop.close()

    async def _settled(self) -> None:
        """Closed sockets leave the loop in its next rounds."""
        for _ in range(5):
            await asyncio.sleep(0)
        await self.loop.shutdown_asyncgens()


class Held(Generic[T]):
    """What an async context manager gives, kept open by a task until `close`. To open it may take `seconds`."""

    def __init__(
        self, thread: LoopThread, open_it: Callable[[], AbstractAsyncContextManager[T]], seconds: float = SECONDS
    ) -> None:
        self._thread = thread
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[T] = thread.loop.create_future()
        self._task = asyncio.run_coroutine_threadsafe(self._hold(open_it), thread.loop)
        self.value: T = thread.run(self._get(), seconds)

    async def _get(self) -> T:
        return await self._opened

    async def _hold(self, open_it: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        try:
            async with open_it() as value:
                self._opened.set_result(value)
                await self._closing.wait()
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def ask(self, work: Awaitable[Any]) -> Any:
        async def awaited() -> Any:
            return await work

        return await self._thread.ask(awaited())

    def close(self) -> None:
        self._thread.loop.call_soon_threadsafe(self._closing.set)
        self._task.result(SECONDS)
