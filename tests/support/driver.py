"""A client in a process of its own, in an environment of its own: commands and answers are lines of JSON."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ANSWER_SECONDS = 60.0
STOP_SECONDS = 15.0
TOLD = 4000
"""Characters of its log that a failure shows."""


class DriverError(Exception):
    """What the client raised, or how its process ended."""


class Driver:
    """Asked from any thread."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        self._ids = itertools.count(1)
        self._open: dict[int, Future[Any]] | None = {}  # None once it says nothing more
        self._lock = threading.Lock()
        self._ears: dict[str, Callable[[Json], None]] = {}
        with log.open("ab") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self._reader = threading.Thread(target=self._read, name="driver", daemon=True)
        self._reader.start()

    def listen(self, client: str, ear: Callable[[Json], None]) -> None:
        """`ear` hears what is said of this client without being asked for, on the thread that reads."""
        self._ears[client] = ear

    def ask(self, do: str, **what: Any) -> Any:
        """Waits here. Raises DriverError, TimeoutError."""
        return self._sent(do, what).result(ANSWER_SECONDS)

    async def asked(self, do: str, **what: Any) -> Any:
        """The same, on an event loop."""
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asyncio.wrap_future(self._sent(do, what))

    def close(self) -> None:
        """At the end of its stdin it closes what is open, and ends; later it is killed, which is an error."""
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended before
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise DriverError(f"it did not end within {STOP_SECONDS:g} s{self._told()}") from None
        finally:
            self._reader.join(STOP_SECONDS)
        if self._process.returncode:
            raise DriverError(f"it ended with {self._process.returncode}{self._told()}")

    def _sent(self, do: str, what: Json) -> Future[Any]:
        future: Future[Any] = Future()
        assert self._process.stdin is not None
        with self._lock:
            if self._open is None:
                raise DriverError(f"it has ended{self._told()}")
            number = next(self._ids)
            self._open[number] = future
            with suppress(OSError):  # it has ended, of which the thread that reads tells
                self._process.stdin.write(json.dumps({"id": number, "do": do, **what}).encode() + b"\n")
                self._process.stdin.flush()
        return future

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._heard(json.loads(line))
        self._process.wait()
        with self._lock:
            left, self._open = self._open or {}, None
        for future in left.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(DriverError(f"it has ended{self._told()}"))

    def _heard(self, said: Json) -> None:
        if "id" not in said:
            self._ears[said["client"]](said)
            return
        with self._lock:
            assert self._open is not None
            future = self._open.pop(said["id"])
        if not future.set_running_or_notify_cancel():
            return
        if "error" in said:
            future.set_exception(DriverError(said["error"]))
        else:
            future.set_result(said["value"])

    def _told(self) -> str:
        return f"\n{self._log.read_text('utf-8', 'replace')[-TOLD:]}"
