"""The document in a file: whoever changes it replaces it in one step."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from pathlib import Path

from server.flags.document import MOST_BYTES
from server.flags.sources.source import Unreadable


class FileSource:
    """Read whole each time, on a thread: times of files are too coarse to tell two changes apart."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._content)
        except OSError as error:
            raise Unreadable(f"{self._path} cannot be read: {error.strerror}") from error

    def _content(self) -> bytes:
        with open(self._path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is no file")
            return file.read(MOST_BYTES + 1)


def _at_once(path: str, flags: int) -> int:
    """A pipe that nobody writes to would hold its opening up, and the end of the process with it."""
    return os.open(path, flags | os.O_NONBLOCK)
