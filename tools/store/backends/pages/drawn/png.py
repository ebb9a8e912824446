"""Images of at most sixteen colours as PNG (W3C, "Portable Network Graphics (PNG) Specification"), by zlib alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
MOST_COLOURS = 16
BITS, INDEXED = 4, 3
LEVEL = 7
"""The highest takes ten times as long for tones, to save a fifteenth."""


def indexed_png(pixels: NDArray[np.uint8], palette: Sequence[Colour]) -> bytes:
    """`pixels` are places in the palette, in rows of an even length."""
    height, width = pixels.shape
    assert width % 2 == 0, "two pixels are a byte"
    assert len(palette) <= MOST_COLOURS
    packed = pixels[:, 0::2] << BITS | pixels[:, 1::2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), packed], axis=1)  # each begins with its filter: none
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, BITS, INDEXED, 0, 0, 0)),
            _chunk(b"PLTE", bytes(part for colour in palette for part in colour)),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), LEVEL)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
