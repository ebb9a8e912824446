"""What was computed, kept on disk: one .npz a kind (.npy for a matrix that is mapped), named by what it was computed from,
written atomically, checked when read.

Of each kind two stay. No pickle. The archive's own CRC-32 finds corruption; shapes and ranges are checked besides, so that a
foreign or truncated file is rebuilt and never trusted.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.index import LexicalIndex, NameRows, PeopleRows, SparseIndex

Floats = NDArray[np.float32]
NOT_WHOLE = (OSError, EOFError, ValueError, TypeError, AttributeError, BufferError, MemoryError, RecursionError, TokenError)
"""What NumPy raises for files that are damaged, or that somebody else has made: it reads a header as Python's literals."""


def write_matrix(file: BinaryIO, key: str, matrix: Floats) -> None:
    """Raises OSError."""
    whole = np.ascontiguousarray(matrix, np.float32)
    np.save(file, whole, allow_pickle=False)
    file.write(_seal(key, whole))


def map_matrix(path: Path, key: str) -> Floats | None:
    """The matrix that was written for `key`; None when it is not there, not ours to read, or not whole. Reads all of it
    once. Blocking."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        with path.open("rb") as file:
            file.seek(mapped.offset + mapped.nbytes)
            seal = file.read()
        if mapped.dtype != np.float32 or seal != _seal(key, mapped):
            return None
    except NOT_WHOLE:
        return None
    with suppress(OSError):  # a folder that is only read
        os.utime(path)  # what is used is not what is removed
    return np.asarray(mapped)


def _seal(key: str, matrix: Floats) -> bytes:
    return sha256(key.encode()).digest() + zlib.crc32(matrix.data).to_bytes(4)


FORMAT = "3"
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
        except (*NOT_WHOLE, KeyError, zipfile.BadZipFile):
            return None
        return arrays if bytes(arrays.pop("key", np.zeros(0, np.uint8))) == key.encode() else None

    def save(self, kind: str, key: str, arrays: Arrays) -> None:
        """Keeps the arrays. A folder that can't be written to is no failure: they are computed again next time. Blocking."""
        path = self._path(kind, key)
        if path is None:
            return
        try:
            named = {**arrays, "key": np.frombuffer(key.encode(), np.uint8)}
            self._replace(path, kind, lambda file: np.savez(file, allow_pickle=False, **named))
        except OSError:
            return

    def map(self, kind: str, key: str) -> Floats | None:
        """The matrix kept for `key`, mapped: processes share it. None when there is none that is whole. Blocking."""
        path = self._path(kind, key, ".npy")
        return None if path is None else map_matrix(path, key)

    def save_matrix(self, kind: str, key: str, matrix: Floats) -> None:
        """Keeps it for `map`. A folder that can't be written to is no failure. Blocking."""
        path = self._path(kind, key, ".npy")
        if path is None:
            return
        with suppress(OSError):
            self._replace(path, kind, lambda file: write_matrix(file, key, matrix))

    def claim(self, kind: str) -> Claim | None:
        """The right to compute something of a kind, which one process has at a time; None while another has it. Where
        nothing can be kept everybody has it. Blocking, but not for the other process."""
        try:
            return Claim(self._folder / f".{kind}.lock" if self._folder is not None else None)
        except BlockingIOError:
            return None

    def _replace(self, path: Path, kind: str, write: Callable[[BinaryIO], None]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            Path(name).replace(path)
            _remove_older(path, kind)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _path(self, kind: str, key: str, suffix: str = ".npz") -> Path | None:
        return None if self._folder is None else self._folder / f"{kind}-{sha256(key.encode()).hexdigest()[:24]}{suffix}"


class Claim:
    """A lock on a file (flock(2)), which ends with its process as well. Raises BlockingIOError for one that is held."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._fd = path, -1
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise
        except OSError:  # nothing can be kept here either
            self.release()

    def release(self) -> None:
        if self._fd >= 0 and self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def _remove_older(current: Path, kind: str) -> None:
    """All of a kind but `current` and the one that was used last before it. Safe beside other processes: what they have
    read or mapped is in their memory, and what they miss they compute again."""
    others = sorted(set(current.parent.glob(f"{kind}-*.np[yz]")) - {current}, key=_used_at, reverse=True)
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


_ROWS = 512
"""Of a matrix that are looked at together."""


class StaleArraysError(ValueError):
    """Arrays that do not fit the catalogue they claim to be computed from."""


def index_arrays(index: LexicalIndex) -> Arrays:
    names, people = index.names, index.people
    return {
        "names.keys": pack(tuple(names.keys)),
        "names.titles": names.titles,
        "names.main": names.main,
        "people.keys": pack(tuple(people.keys)),
        "people.authors": people.authors,
        "people.part": people.part,
        **_sparse_arrays("names", names.grams),
        **_sparse_arrays("people", people.grams),
        **_sparse_arrays("prose", index.prose),
    }


def index_from(arrays: Arrays, titles: int, authors: int) -> LexicalIndex:
    """Raises StaleArraysError if anything is missing or out of range."""
    try:
        index = LexicalIndex(_names(arrays), _people(arrays), _sparse("prose", arrays))
    except (KeyError, ValueError, TypeError) as error:
        raise StaleArraysError(str(error)) from error
    names, people = index.names, index.people
    _require(len(names.keys) == len(names.titles) == len(names.main) == names.grams.size, "names")
    _require(len(people.keys) == len(people.authors) == len(people.part) == people.grams.size, "people")
    _require(_in_range(names.titles, titles) and _in_range(people.authors, authors) and index.prose.size == titles, "titles")
    return index


def _names(arrays: Arrays) -> NameRows:
    titles, main = arrays["names.titles"].astype(np.int32), arrays["names.main"].astype(np.bool_)
    return NameRows(unpack(arrays["names.keys"]), titles, main, _sparse("names", arrays))


def _people(arrays: Arrays) -> PeopleRows:
    authors, part = arrays["people.authors"].astype(np.int32), arrays["people.part"].astype(np.bool_)
    return PeopleRows(unpack(arrays["people.keys"]), authors, part, _sparse("people", arrays))


def _sparse_arrays(name: str, index: SparseIndex) -> Arrays:
    return {
        f"{name}.terms": pack(tuple(index.vocabulary)), f"{name}.starts": index.starts, f"{name}.rows": index.rows,
        f"{name}.weights": index.weights, f"{name}.idf": index.idf, f"{name}.size": np.array(index.size),
    }  # fmt: skip


def _sparse(name: str, arrays: Arrays) -> SparseIndex:
    terms = unpack(arrays[f"{name}.terms"])
    starts, rows = arrays[f"{name}.starts"].astype(np.int64), arrays[f"{name}.rows"].astype(np.int32)
    weights, idf = arrays[f"{name}.weights"].astype(np.float32), arrays[f"{name}.idf"].astype(np.float32)
    size = int(arrays[f"{name}.size"])
    _require(len(starts) == len(terms) + 1 == len(idf) + 1 and len(rows) == len(weights), name)
    _require(
        bool(starts[0] == 0 and starts[-1] == len(rows) and (np.diff(starts) >= 0).all()) and _in_range(rows, size), name
    )
    return SparseIndex({term: i for i, term in enumerate(terms)}, starts, rows, weights, idf, size)


def _in_range(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int32]], size: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)


def _require(good: bool, what: str) -> None:
    if not good:
        raise StaleArraysError(what)


def fits(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float32]], texts: int, dimensions: int) -> bool:
    """Whether it is (texts, dimensions) of finite numbers. Looked at in pieces: what a thread has used once its process
    keeps, and a byte for each number are eleven megabytes of a large catalogue."""
    pieces = (matrix[first : first + _ROWS] for first in range(0, len(matrix), _ROWS))
    return matrix.shape == (texts, dimensions) and all(bool(np.isfinite(each).all()) for each in pieces)
