"""Pictures that are kept in the repository, and how like one a new one has to be.

Text may be smoothed a little differently from one Chromium to the next, and what lies between two pixels may fall to either. So
both are blurred by a pixel, and a pixel is looked for among its neighbours in the other as well. What then still differs clearly is
counted in tiles: a button that moved by two pixels, a line of text that is gone or another colour fills a part of its tile,
wherever it is and however large the picture.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "tests" / "browser" / "pictures"
DIFFERENT = ROOT / ".cache" / "pictures"
WRITE = "MANGA_TEST_PICTURES"
"""Set to 1, pictures that differ are written anew."""
LARGEST_BYTES = 60_000
PALETTES = (Image.Quantize.MEDIANCUT, Image.Quantize.FASTOCTREE)
"""The first keeps many shades apart, the second rare colours."""
CLEARLY = 28
"""Of 255, in any colour, after blurring. A palette loses half of it at most."""
TILE = 32
OF_A_TILE = 0.04
"""The share of a tile's pixels that may differ clearly. What moved by two pixels fills twice as much where it is a button, by one none."""


def like_kept(shot: bytes, name: str, folder: Path = KEPT) -> None:
    """Fails when a picture is not like the kept one of that name, and says where both and their difference are."""
    path = folder / f"{name}.png"
    problem = difference(shot, path.read_bytes(), name) if path.is_file() else f"no picture {path.name} is kept"
    if problem is None:
        return
    if os.environ.get(WRITE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small(shot))
        return
    DIFFERENT.mkdir(parents=True, exist_ok=True)
    actual = DIFFERENT / f"{name}.actual.png"
    actual.write_bytes(shot)
    raise AssertionError(
        f"{problem}; what it is now: {actual}. If that is right: python -m tests.browser.update, and look at each that changed"
    )


def difference(shot: bytes, kept: bytes, name: str) -> str | None:
    """What differs, where somebody would see it; None for nothing. Draws where, into `DIFFERENT`."""
    new, old = opened(shot), opened(kept)
    if new.size != old.size:
        return f"{name} is {new.width} x {new.height} pixels, and was {old.width} x {old.height}"
    differs = _apart(new, old) > CLEARLY
    if differs.any():
        differs &= _apart_from_neighbours(new, old) > CLEARLY
    worst = max((float(differs[y : y + TILE, x : x + TILE].sum()), x, y) for x, y in _tiles(differs))
    if worst[0] <= OF_A_TILE * TILE * TILE:
        return None
    DIFFERENT.mkdir(parents=True, exist_ok=True)
    _drawn(new, differs).save(DIFFERENT / f"{name}.difference.png")
    return (
        f"{name} differs, most at ({worst[1]}, {worst[2]}), by {int(worst[0])} pixels there and {int(differs.sum())} in all"
    )


def small(shot: bytes) -> bytes:
    """As the palette of 256 colours that it loses least by, without metadata. Fails where that is not small enough to keep."""
    new = opened(shot)
    kept = min((_with_palette(new, each) for each in PALETTES), key=lambda png: int(_apart(new, opened(png)).max()))
    assert len(kept) <= LARGEST_BYTES, f"{len(kept)} bytes are too many to keep"
    return kept


def _with_palette(image: Image.Image, method: Image.Quantize) -> bytes:
    out = io.BytesIO()
    image.quantize(256, method, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def _apart(new: Image.Image, old: Image.Image) -> np.ndarray:
    """How far each pixel is from the other's, in the colour in which it is farthest, after blurring."""
    return np.abs(_blurred(new) - _blurred(old)).max(axis=2)


def _apart_from_neighbours(new: Image.Image, old: Image.Image) -> np.ndarray:
    """The same from whichever of nine pixels there is nearest, seen from both: what is gone is in one alone."""
    first, second = _blurred(new), _blurred(old)
    return np.maximum(_from_nearest(first, second), _from_nearest(second, first))


def _from_nearest(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    height, width, _ = one.shape
    wide = np.pad(other, ((1, 1), (1, 1), (0, 0)), mode="edge")
    moved = (wide[y : y + height, x : x + width] for y in range(3) for x in range(3))
    return np.minimum.reduce([np.abs(one - each).max(axis=2) for each in moved])


def _blurred(image: Image.Image) -> np.ndarray:
    return np.asarray(image.filter(ImageFilter.BoxBlur(1)), dtype=np.int16)


def _tiles(differs: np.ndarray) -> list[tuple[int, int]]:
    """By halves of a tile, so that what lies on an edge of one is in the middle of another."""
    height, width = differs.shape
    return [(x, y) for y in range(0, height, TILE // 2) for x in range(0, width, TILE // 2)]


def _drawn(new: Image.Image, differs: np.ndarray) -> Image.Image:
    """The new one, pale, with what differs in red."""
    pale = np.asarray(new, dtype=np.uint8) // 3 + 170
    pale[differs] = (220, 0, 0)
    return Image.fromarray(pale)
