"""What a source is."""

from __future__ import annotations

from typing import Protocol


class Unreadable(Exception):
    """The document cannot be read now. The message is for a person, without a secret; what caused it is attached."""


class Source(Protocol):
    async def read(self) -> bytes | None:
        """Returns the document as it is; None where the source says that it is the one of the last time. May be cut off
        beyond what a document may have. Ends by itself within some seconds. Raises `Unreadable`."""
        ...
