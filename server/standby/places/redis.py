"""A bundle in the Redis of the sessions, in pieces: no trip of a session waits behind a long reply."""

from __future__ import annotations

import asyncio
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex
from typing import Any

from server.standby.manifest import LONGEST_LINE
from server.standby.places.place import CHUNK, UnreachableError
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Argument, Command, KeyValue
from session.resilience.deadline import Deadline

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
