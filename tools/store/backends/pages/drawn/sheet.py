"""The sheet that pages are drawn on: printer's marks in pale blue around them, as on a draft."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.pages.drawn.canvas import Canvas
from tools.store.backends.pages.drawn.png import Colour, indexed_png
from tools.store.backends.pages.drawn.shapes import Box, edge, rectangle, stroke

WIDTH, HEIGHT = 400, 566
INSIDE: Box = (30.0, 32.0, WIDTH - 30.0, HEIGHT - 32.0)
GREYS = 5
"""From ink to paper: enough for smooth edges, and few make small files."""
BLUE: Colour = (120, 178, 222)
MARK = 13.0


def printed(canvas: Canvas) -> bytes:
    """The PNG of a sheet and its marks, which lie around what is drawn."""
    pixels = stepped(canvas)
    pixels[_marks()] = GREYS
    greys = [(round(255 * n / (GREYS - 1)),) * 3 for n in range(GREYS)]
    return indexed_png(pixels, [*greys, BLUE])


def stepped(canvas: Canvas) -> NDArray[np.uint8]:
    """How light each pixel is, in `GREYS` steps."""
    return np.rint(canvas.light * (GREYS - 1)).astype(np.uint8)


@lru_cache(maxsize=1)
def _marks() -> NDArray[np.bool_]:
    """Where they are, the same on every sheet."""
    left, top, right, bottom = 14.5, 16.5, WIDTH - 14.5, HEIGHT - 16.5
    canvas = Canvas.blank(WIDTH, HEIGHT)
    canvas.paint(edge(rectangle(left, top, right, bottom), 1), 0.0)
    for x, aside in ((left, -MARK), (right, MARK)):
        for y, up in ((top, -MARK), (bottom, MARK)):
            canvas.paint(stroke((x, y + up), (x, y), (x + aside, y), width=1), 0.0)
    for y in (8.0, HEIGHT - 8.0):
        canvas.paint(stroke((WIDTH / 2 + 0.5, y - 8), (WIDTH / 2 + 0.5, y + 8), width=1), 0.0)
    return canvas.light < 0.5
