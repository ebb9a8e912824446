"""What processes leave for one another in Redis, so that a new one does not begin with nothing while a backend is down."""

from __future__ import annotations

import zlib

from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from session.redis.keyvalue import Command

TRIP_SECONDS = 0.5
LARGEST_PACKED = 1024 * 1024
LARGEST_BYTES = 16 * LARGEST_PACKED
"""Nothing larger is kept, and nothing is unpacked to more: what is read may be anybody's."""
LEVEL = 1


class Snapshots:
    """Values by their keys, packed, each with a life of its own. For background work: no call waits for one."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory

    async def load(self, key: str) -> bytes | None:
        """As it was packed; None when there is none. Raises `MemoryUnavailable`."""
        (stored,) = await self._memory.background([Command(("GET", key))], TRIP_SECONDS)
        return stored if isinstance(stored, bytes) else None

    async def save(self, key: str, packed: bytes, seconds: int) -> bool:
        """Whether it is kept."""
        if len(packed) > LARGEST_PACKED or seconds <= 0:
            return False
        try:
            await self._memory.background([Command(("SET", key, packed, "EX", seconds))], TRIP_SECONDS)
        except MemoryUnavailable:
            return False
        return True


def pack(content: bytes) -> bytes:
    return zlib.compress(content, LEVEL)


def unpack(packed: bytes) -> bytes | None:
    """None for what `pack` did not make."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, LARGEST_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None
