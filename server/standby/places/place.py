"""A place that bundles are put into by the seed and fetched from by servers."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

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
