"""A bundle in a file, of this machine or of a volume that tasks share."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from server.standby.bundle import MOST_BYTES
from server.standby.manifest import LONGEST_LINE
from server.standby.places.place import UnreachableError

T = TypeVar("T")


class FilePlace:
    """Its mark is what the file system says of the file: a replaced one has another number, a rewritten one other times."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self, since: str | None, into: Path) -> str | None:
        return await self._on_a_thread(lambda: self._copied(since, into))

    async def head(self) -> bytes:
        return await self._on_a_thread(self._beginning)

    async def publish(self, bundle: Path) -> None:
        await self._on_a_thread(lambda: self._replace(bundle))

    async def _on_a_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise UnreachableError(f"{self._path}: {error.strerror or type(error).__name__}") from error

    def _copied(self, since: str | None, into: Path) -> str | None:
        with self._opened() as file:
            state = os.fstat(file.fileno())
            if state.st_size > MOST_BYTES:
                raise UnreachableError(f"{self._path}: larger than any bundle")
            mark = f"{state.st_ino}-{state.st_mtime_ns}-{state.st_size}"
            if mark == since:
                return None
            with into.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        return mark

    def _opened(self) -> BinaryIO:
        """A pipe would be waited for, and a device never ends: neither is read."""
        opened = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)  # before a file is made of it: of a folder that fails, and leaves it open
            raise UnreachableError(f"{self._path}: no file")
        return os.fdopen(opened, "rb")

    def _beginning(self) -> bytes:
        try:
            with self._opened() as file:
                return file.read(LONGEST_LINE)
        except FileNotFoundError:
            return b""

    def _replace(self, bundle: Path) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            shutil.copyfile(bundle, beside)
            beside.replace(self._path)
        finally:
            beside.unlink(missing_ok=True)
