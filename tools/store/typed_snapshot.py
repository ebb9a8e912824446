"""The store's nouns as they are kept in Redis for the processes that come after: JSON of their shape, packed."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from session import keys
from session.begin import digest
from session.memory import Snapshots, pack, unpack

logger = logging.getLogger(__name__)

T = TypeVar("T")
FORM = 10
"""Characters that name a shape: enough to tell versions apart."""


class TypedSnapshot(Generic[T]):
    """Values of one shape under one name. The shape is part of the key, so that another version's are not even read; what is
    there and not of it is taken for nothing, and told of once."""

    def __init__(self, snapshots: Snapshots, name: str, shape: Any) -> None:
        self._snapshots = snapshots
        self._name = name
        self._shape: TypeAdapter[T] = TypeAdapter(shape)
        self._form = digest(self._shape.json_schema())[:FORM]
        self._told = False

    async def load(self, part: int | str = 0) -> T | None:
        """None when there is nothing that can be read. Raises `MemoryUnavailable`."""
        packed = await self._snapshots.load(self._key(part))
        return None if packed is None else await asyncio.to_thread(self._read, packed)

    async def save(self, value: T, seconds: int, part: int | str = 0) -> bool:
        """True if the value is kept for so many seconds."""
        packed = await asyncio.to_thread(lambda: pack(self._shape.dump_json(value)))
        return await self._snapshots.save(self._key(part), packed, seconds)

    def _read(self, packed: bytes) -> T | None:
        content = unpack(packed)
        if content is not None:
            with suppress(ValidationError):
                return self._shape.validate_json(content, strict=True)
        if not self._told:
            self._told = True
            logger.warning("what is kept as %s cannot be read: it is as if there were nothing", self._name)
        return None

    def _key(self, part: int | str) -> str:
        return keys.snapshot(f"{self._name}:{part}", self._form)
