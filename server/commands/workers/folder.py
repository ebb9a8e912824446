"""The supervisor's folder: for sockets, and what workers leave to one another. Nobody else can look into it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "manga-workers-"
LOCK, UNLOCKED = "lock", "lock.new"


@contextmanager
def own_folder() -> Iterator[Path]:
    """It goes with the supervisor. What one has left that was killed goes with the next one's start."""
    _clear_away()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The lock is the workers' too, which inherit it (flock(2)): it is free when the last of them has ended. It gets its
    name when it is held, so that nobody finds it free before."""
    with (folder / UNLOCKED).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / UNLOCKED).rename(folder / LOCK)
        yield


def _clear_away() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another's, in use, or cleared away by somebody else meanwhile
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
