"""The file that the audit is written to, which only its owner can read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from server.telemetry.log.lines import write_some

OWNER_ONLY = 0o600
OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class AuditFile:
    """Opened by name again when somebody has moved it away (logrotate), and after every error. A pipe will do as well; as
    long as nobody reads it, writing fails."""

    def __init__(self, path: Path) -> None:
        """Opens it. Raises OSError for a file that cannot be written, or that others can read and will go on to."""
        self._path = path
        self._fd: int | None = None
        self._torn = False
        try:
            self._open()
        except OSError as error:
            if error.errno != errno.ENXIO:  # a pipe whose reader has not come yet
                raise

    def write(self, lines: bytes) -> None:
        """Writes whole lines. Raises OSError; what was begun is then ended by the next write. May block."""
        if self._fd is None or self._moved():
            self._open()
        assert self._fd is not None
        data = b"\n" + lines if self._torn else lines
        sent = 0
        try:
            while sent < len(data):
                sent += write_some(self._fd, data[sent:])
        except OSError:
            self._torn = not data[:sent].endswith(b"\n") if sent else self._torn
            self.close()
            raise
        self._torn = False

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> None:
        self.close()
        fd = os.open(self._path, OPEN_FLAGS, OWNER_ONLY)
        try:
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & ~OWNER_ONLY:
                os.fchmod(fd, OWNER_ONLY)  # one that was there before, with what was usual then
        except OSError:
            os.close(fd)
            raise
        self._fd = fd

    def _moved(self) -> bool:
        assert self._fd is not None
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._fd))
        except FileNotFoundError:
            return True
