"""What was computed, kept on disk: one .npz a kind, named by what it was computed from, written atomically, checked when
read.

Of each kind two stay. No pickle. The archive's own CRC-32 finds corruption; shapes and ranges are checked besides, so that a
foreign or truncated file is rebuilt and never trusted.
"""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FORMAT = "2"
KEPT = 2
"""Files of a kind: what is current, and what was before it, for a way back."""
ABANDONED_SECONDS = 3600.0
"""After so long nobody is writing a temporary file any more: its process was killed."""
Arrays = Mapping[str, NDArray[np.generic]]


class ComputedStore:
    """Files under `folder`; with None nothing is kept and nothing found."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, kind: str, key: str) -> Arrays | None:
        """The arrays kept for `key`, or None when there are none that are whole. Blocking."""
        path = self._path(kind, key)
        if path is None:
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            with suppress(OSError):  # a folder that is only read
                os.utime(path)  # what is used is not what is removed
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None
        return arrays if bytes(arrays.pop("key", np.zeros(0, np.uint8))) == key.encode() else None

    def save(self, kind: str, key: str, arrays: Arrays) -> None:
        """Keeps the arrays. A folder that can't be written to is no failure: they are computed again next time. Blocking."""
        path = self._path(kind, key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._replace(path, {**arrays, "key": np.frombuffer(key.encode(), np.uint8)})
            _remove_older(path, kind)
        except OSError:
            return

    def _replace(self, path: Path, arrays: Arrays) -> None:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _path(self, kind: str, key: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{kind}-{sha256(key.encode()).hexdigest()[:24]}.npz"


def _remove_older(current: Path, kind: str) -> None:
    """All of a kind but `current` and the one that was used last before it. Safe beside other processes: what they have read
    is in their memory, and what they miss they compute again."""
    others = sorted(set(current.parent.glob(f"{kind}-*.npz")) - {current}, key=_used_at, reverse=True)
    ages = ((path, time.time() - _used_at(path)) for path in current.parent.glob(f".{kind}-*.tmp"))
    for path in [*others[KEPT - 1 :], *(path for path, age in ages if age > ABANDONED_SECONDS)]:
        path.unlink(missing_ok=True)


def _used_at(path: Path) -> float:
    """Seconds since 1970; for one that another process has just removed, long ago."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def pack(texts: list[str] | tuple[str, ...]) -> NDArray[np.uint8]:
    """Texts without line breaks as one array of bytes."""
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def unpack(data: NDArray[np.generic]) -> list[str]:
    """The texts of `pack`. Raises ValueError if it is none."""
    text = data.astype(np.uint8).tobytes().decode()
    return text.split("\n") if text else []
