"""A matrix on disk that processes map into their memory, where all of them share one copy.

It is NumPy's .npy, whose numbers begin at a multiple of 64 bytes, as BLAS wants them; behind them stand what it was computed
from and a CRC-32. An archive (.npz) would put them anywhere.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

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
