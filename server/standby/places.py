"""A bundle in the Redis of the sessions, in pieces: no trip of a session waits behind a long reply."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Protocol, TypeVar

from server.standby.bundle import LONGEST_LINE, MOST_BYTES
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Argument, Command, KeyValue
from session.resilience.deadline import Deadline

CHUNK = 256 * 1024
"""Bytes that are fetched at a time: few enough that nobody who shares a connection waits for them."""


class UnreachableError(Exception):
    """The place cannot be read or written now; the message is for a person and carries no secret."""


class Place(Protocol):
    """Waits are bounded; every method raises `UnreachableError` where the place does not answer or refuses."""

    async def fetch(self, since: str | None, into: Path) -> str | None:
        """Writes the bundle into a file and returns its mark, by which it is known from others; None where that is still
        `since`, and nothing was written. What was written need not be whole. Raises `UnreachableError` as well where there
        is no bundle."""
        ...

    async def head(self) -> bytes:
        """The beginning of the bundle, which holds its first line; nothing where there is no bundle."""
        ...

    async def publish(self, bundle: Path) -> None:
        """Puts the bundle there in one step: who fetches meanwhile gets the old one, the new one, or a part of
        one."""
        ...


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


MARK = "manga:mcp:standby:{catalogue}"
"""Holds the mark of the newest bundle, which is the end of a key that nobody writes again; the braces keep both in one slot
of a cluster."""
TRIP_SECONDS = 2.0
OLD_SECONDS = 600
"""A bundle that was replaced stays for those who are fetching it, and one whose publishing broke off goes."""


class RedisPlace:
    """The connection is whoever opened it to close."""

    def __init__(self, redis: KeyValue) -> None:
        self._redis = redis

    async def fetch(self, since: str | None, into: Path) -> str | None:
        mark = await self._newest()
        if mark is None:
            raise UnreachableError(f"there is no key {MARK}")
        if mark == since:
            return None
        with await asyncio.to_thread(into.open, "wb") as file:
            start = 0
            while piece := bytes(await self._asked("GETRANGE", _key(mark), start, start + CHUNK - 1)):
                await asyncio.to_thread(file.write, piece)
                start += len(piece)
        return mark

    async def head(self) -> bytes:
        mark = await self._newest()
        return b"" if mark is None else bytes(await self._asked("GETRANGE", _key(mark), 0, LONGEST_LINE - 1))

    async def publish(self, bundle: Path) -> None:
        old = await self._newest()
        mark = f"{await asyncio.to_thread(_digest, bundle)}-{token_hex(4)}"
        with await asyncio.to_thread(bundle.open, "rb") as file:
            while piece := await asyncio.to_thread(file.read, CHUNK):
                await self._asked("APPEND", _key(mark), piece)
                await self._asked("EXPIRE", _key(mark), OLD_SECONDS)
        await self._asked("PERSIST", _key(mark))
        await self._asked("SET", MARK, mark)
        if old is not None:
            await self._asked("EXPIRE", _key(old), OLD_SECONDS)

    async def _newest(self) -> str | None:
        mark = await self._asked("GET", MARK)
        return None if mark is None else bytes(mark).decode("ascii", "replace")

    async def _asked(self, *words: Argument) -> Any:
        try:
            (reply,) = await self._redis.trip([Command(words)], Deadline.after(TRIP_SECONDS))
        except MemoryUnavailable as failure:
            raise UnreachableError("Redis does not answer") from failure
        if isinstance(reply, Exception):
            raise UnreachableError(f"Redis refuses it: {reply}") from reply
        return reply


def _key(mark: str) -> str:
    return f"{MARK}:{mark}"


def _digest(bundle: Path) -> str:
    with bundle.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:32]
