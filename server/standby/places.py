"""Places of bundles: a file, or the sessions' Redis."""

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
"""Bytes fetched at a time: few, since sessions share the connection."""


class UnreachableError(Exception):
    """The place cannot be read or written; the message carries no secret."""


class Place(Protocol):
    """Every method answers in bounded time, or raises `UnreachableError`."""

    async def fetch(self, since: str | None, into: Path) -> str | None:
        """Writes the bundle, possibly truncated, into a file and returns its mark, which differs for each bundle. None, and
        nothing is written, where the mark is still `since`. Raises `UnreachableError` also where there is no bundle."""
        ...

    async def head(self) -> bytes:
        """The first bytes of the bundle, with its first line; empty without a bundle."""
        ...

    async def publish(self, bundle: Path) -> None:
        """Replaces the bundle: a concurrent `fetch` gets the old one, the new one, or a part of one."""
        ...


T = TypeVar("T")


class FilePlace:
    """A file. Its mark is its inode, time and size."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self, since: str | None, into: Path) -> str | None:
        return await self._run(lambda: self._copy(since, into))

    async def head(self) -> bytes:
        return await self._run(self._read_head)

    async def publish(self, bundle: Path) -> None:
        await self._run(lambda: self._replace(bundle))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise UnreachableError(f"{self._path}: {error.strerror or type(error).__name__}") from error

    def _copy(self, since: str | None, into: Path) -> str | None:
        with self._open_file() as file:
            state = os.fstat(file.fileno())
            if state.st_size > MOST_BYTES:
                raise UnreachableError(f"{self._path}: larger than any bundle")
            mark = f"{state.st_ino}-{state.st_mtime_ns}-{state.st_size}"
            if mark == since:
                return None
            with into.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        return mark

    def _open_file(self) -> BinaryIO:
        """Opens the file; refuses pipes, devices and folders."""
        opened = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)  # os.fdopen fails for a folder, and would leave it open
            raise UnreachableError(f"{self._path}: no file")
        return os.fdopen(opened, "rb")

    def _read_head(self) -> bytes:
        try:
            with self._open_file() as file:
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
"""The key of the newest bundle's mark; the bundle's own key is this one with the mark appended, in the same cluster slot."""
OLD_SECONDS = 600
"""How long a replaced bundle stays for fetches under way, and how long the remains of a broken-off publishing stay."""


class RedisPlace:
    """The sessions' Redis, whose connection the caller closes."""

    def __init__(self, redis: KeyValue) -> None:
        self._redis = redis

    async def fetch(self, since: str | None, into: Path) -> str | None:
        mark = await self._read_mark()
        if mark is None:
            raise UnreachableError(f"there is no key {MARK}")
        if mark == since:
            return None
        with await asyncio.to_thread(into.open, "wb") as file:
            start = 0
            while piece := bytes(await self._send_command("GETRANGE", _bundle_key(mark), start, start + CHUNK - 1)):
                await asyncio.to_thread(file.write, piece)
                start += len(piece)
        return mark

    async def head(self) -> bytes:
        mark = await self._read_mark()
        return b"" if mark is None else bytes(await self._send_command("GETRANGE", _bundle_key(mark), 0, LONGEST_LINE - 1))

    async def publish(self, bundle: Path) -> None:
        old = await self._read_mark()
        mark = f"{await asyncio.to_thread(_digest_file, bundle)}-{token_hex(4)}"
        with await asyncio.to_thread(bundle.open, "rb") as file:
            while piece := await asyncio.to_thread(file.read, CHUNK):
                await self._send_command("APPEND", _bundle_key(mark), piece)
                await self._send_command("EXPIRE", _bundle_key(mark), OLD_SECONDS)
        await self._send_command("PERSIST", _bundle_key(mark))
        await self._send_command("SET", MARK, mark)
        if old is not None:
            await self._send_command("EXPIRE", _bundle_key(old), OLD_SECONDS)

    async def _read_mark(self) -> str | None:
        mark = await self._send_command("GET", MARK)
        return None if mark is None else bytes(mark).decode("ascii", "replace")

    async def _send_command(self, *words: Argument) -> Any:
        try:
            (reply,) = await self._redis.trip([Command(words)], Deadline.after(2.0))
        except MemoryUnavailable as failure:
            raise UnreachableError("Redis does not answer") from failure
        if isinstance(reply, Exception):
            raise UnreachableError(f"Redis refuses it: {reply}") from reply
        return reply


def _bundle_key(mark: str) -> str:
    return f"{MARK}:{mark}"


def _digest_file(bundle: Path) -> str:
    with bundle.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:32]
