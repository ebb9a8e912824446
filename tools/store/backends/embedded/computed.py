"""A disk cache of arrays computed from a catalogue: an .npz file for each kind, or .npy for a memory-mapped matrix.

Files are named by a hash of their input's key and written atomically; two of each kind are kept. No pickle is read.
Checksums, shapes and ranges are checked on reading, so that a damaged or foreign file is recomputed."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.index import KeyRows, LexicalIndex, SparseIndex
from tools.store.search.columns import Floats

FORMAT = "3"
_UNREADABLE = (
    *(OSError, EOFError, ValueError, TypeError, AttributeError, BufferError, MemoryError, RecursionError, TokenError),
    *(KeyError, zipfile.BadZipFile),
)
"""Errors that NumPy, which parses a file's header as Python literals, raises for damaged and foreign files."""
Arrays = Mapping[str, NDArray[np.generic]]


class ComputedStore:
    """Stores arrays in files under `folder`. If the folder cannot be written, saving does nothing and raises nothing: the
    arrays are computed again at the next start. Every method blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, kind: str, key: str) -> Arrays | None:
        """Returns the arrays stored for `key`; None if the file is missing, damaged or of another key."""
        path = self._path(kind, key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            _touch(path)
        except _UNREADABLE:
            return None
        return arrays if bytes(arrays.pop("key", np.zeros(0, np.uint8))) == key.encode() else None

    def save(self, kind: str, key: str, arrays: Arrays) -> None:
        named = {**arrays, "key": np.frombuffer(key.encode(), np.uint8)}
        self._replace(self._path(kind, key), kind, lambda file: np.savez(file, allow_pickle=False, **named))

    def map(self, kind: str, key: str) -> Floats | None:
        """Returns the matrix stored for `key`, memory-mapped so that processes share it; None if the file is missing,
        damaged or of another key."""
        path = self._path(kind, key, ".npy")
        try:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
            with path.open("rb") as file:
                file.seek(mapped.offset + mapped.nbytes)
                seal = file.read()
            if mapped.dtype != np.float32 or seal != _seal(key, mapped):
                return None
        except _UNREADABLE:
            return None
        _touch(path)
        return np.asarray(mapped)

    def save_matrix(self, kind: str, key: str, matrix: Floats) -> None:
        whole = np.ascontiguousarray(matrix, np.float32)

        def write(file: BinaryIO) -> None:
            np.save(file, whole, allow_pickle=False)
            file.write(_seal(key, whole))

        self._replace(self._path(kind, key, ".npy"), kind, write)

    def claim(self, kind: str) -> ExitStack | None:
        """Locks the computation of one kind of arrays by a file (flock(2)), which the system unlocks at the latest when the
        process ends. Returns a stack that unlocks the file when closed; None while another process has the lock. In a folder
        that cannot be written nothing is locked, and every process computes."""
        path, held = self._folder / f".{kind}.lock", ExitStack()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.callback(path.unlink, missing_ok=True)
        except BlockingIOError:
            held.close()
            return None
        except OSError:
            held.close()
        return held

    def _replace(self, path: Path, kind: str, write: Callable[[BinaryIO], None]) -> None:
        with suppress(OSError):
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

    def _path(self, kind: str, key: str, suffix: str = ".npz") -> Path:
        return self._folder / f"{kind}-{sha256(key.encode()).hexdigest()[:24]}{suffix}"


def _seal(key: str, matrix: Floats) -> bytes:
    return sha256(key.encode()).digest() + zlib.crc32(matrix.data).to_bytes(4)


def _touch(path: Path) -> None:
    with suppress(OSError):  # a read-only folder
        os.utime(path)


def _remove_older(current: Path, kind: str) -> None:
    """Removes all files of a kind except `current` and the most recently used other file (for a rollback). Also removes
    temporary files older than an hour. Safe beside other processes: files that they have read or mapped stay in memory,
    and missing files are recomputed."""
    others = sorted(set(current.parent.glob(f"{kind}-*.np[yz]")) - {current}, key=_used_at, reverse=True)
    abandoned = [path for path in current.parent.glob(f".{kind}-*.tmp") if time.time() - _used_at(path) > 3600]
    for path in [*others[1:], *abandoned]:
        path.unlink(missing_ok=True)


def _used_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def pack(texts: list[str] | tuple[str, ...]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def unpack(data: NDArray[np.generic]) -> list[str]:
    """Unpacks the texts of `pack`. Raises ValueError for bytes that are not UTF-8."""
    text = data.astype(np.uint8).tobytes().decode()
    return text.split("\n") if text else []


_NAMES, _PEOPLE = ("names", "titles", "main"), ("people", "authors", "part")
"""For title and author names: the prefix of the arrays' names in a file, then the names there of `owners` and `part`."""


def index_arrays(index: LexicalIndex) -> Arrays:
    rows = {**_rows_arrays(index.names, *_NAMES), **_rows_arrays(index.people, *_PEOPLE)}
    return {**rows, **_sparse_arrays("prose", index.prose)}


def index_from(arrays: Arrays, titles: int, authors: int) -> LexicalIndex:
    """Restores an index from its arrays. Raises KeyError, ValueError or TypeError if one is missing or does not fit."""
    names, people = _rows(arrays, titles, *_NAMES), _rows(arrays, authors, *_PEOPLE)
    prose = _sparse("prose", arrays)
    _require(prose.size == titles, "prose")
    return LexicalIndex(names, people, prose)


def _rows_arrays(rows: KeyRows, name: str, owners: str, part: str) -> Arrays:
    columns: Arrays = {"keys": pack(tuple(rows.keys)), owners: rows.owners, part: rows.part}
    return {**{f"{name}.{each}": array for each, array in columns.items()}, **_sparse_arrays(name, rows.grams)}


def _rows(arrays: Arrays, most: int, name: str, owners: str, part: str) -> KeyRows:
    rows = KeyRows(
        unpack(arrays[f"{name}.keys"]),
        arrays[f"{name}.{owners}"].astype(np.int32),
        arrays[f"{name}.{part}"].astype(np.bool_),
        _sparse(name, arrays),
    )
    _require(len(rows.keys) == len(rows.owners) == len(rows.part) == rows.grams.size, name)
    _require(_in_range(rows.owners, most), name)
    return rows


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
    ascending = bool(starts[0] == 0 and starts[-1] == len(rows) and (np.diff(starts) >= 0).all())
    _require(ascending and _in_range(rows, size), name)
    return SparseIndex({term: i for i, term in enumerate(terms)}, starts, rows, weights, idf, size)


def _in_range(numbers: NDArray[np.int32], size: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)


def _require(good: bool, name: str) -> None:
    if not good:
        raise ValueError(f"the arrays of {name} do not fit the catalogue")
