"""A sheet to draw on, and the part of it that lies within a panel."""

from __future__ import annotations

import math

import numpy as np

from tools.store.backends.pages.drawn.shapes import EVERYWHERE, Box, Field, Shape, edge
from tools.store.backends.pages.drawn.tones import Tone

INK, PAPER = 0.0, 1.0


class Canvas:
    """`light` is how light each pixel is. `mask` is how much of each may be painted, None for all."""

    def __init__(self, light: Field, xs: Field, ys: Field, mask: Field | None = None) -> None:
        self.light, self._xs, self._ys, self._mask = light, xs, ys, mask

    @classmethod
    def blank(cls, width: int, height: int) -> Canvas:
        ys, xs = np.mgrid[0:height, 0:width].astype(np.float32) + np.float32(0.5)
        return cls(np.full((height, width), PAPER, np.float32), xs, ys)

    def within(self, shape: Shape) -> Canvas:
        """The part inside of `shape`, and nothing outside of it."""
        rows, columns = self._part(shape.box)
        xs, ys = self._xs[rows, columns], self._ys[rows, columns]
        return Canvas(self.light[rows, columns], xs, ys, _covered(shape, xs, ys))

    def paint(self, shape: Shape, tone: float | Tone) -> None:
        rows, columns = self._part(shape.box)
        xs, ys, light = self._xs[rows, columns], self._ys[rows, columns], self.light[rows, columns]
        if not light.size:
            return
        covered = _covered(shape, xs, ys)
        if self._mask is not None:
            covered *= self._mask[rows, columns]
        light += ((tone(xs, ys) if callable(tone) else tone) - light) * covered

    def outlined(self, shape: Shape, tone: float | Tone, line: float = 2.0) -> None:
        """Painted, with its edge in ink."""
        self.paint(shape, tone)
        self.paint(edge(shape, line), INK)

    def fill(self, tone: float | Tone) -> None:
        self.paint(Shape(lambda xs, ys: np.full_like(xs, -1.0), EVERYWHERE), tone)

    def _part(self, box: Box) -> tuple[slice, slice]:
        """Rows and columns of a box, with a pixel around it for the smooth edge."""
        left, top, right, bottom = box
        height, width = self.light.shape
        if not height or not width:
            return slice(0, 0), slice(0, 0)
        x0, y0 = float(self._xs[0, 0]) - 0.5, float(self._ys[0, 0]) - 0.5
        return _reach(top - y0, bottom - y0, height), _reach(left - x0, right - x0, width)


def _reach(start: float, end: float, most: int) -> slice:
    return slice(*(min(most, max(0, at)) for at in (math.floor(start - 1), math.ceil(end + 1))))


def _covered(shape: Shape, xs: Field, ys: Field) -> Field:
    return np.asarray(np.clip(0.5 - shape.distance(xs, ys), 0, 1), np.float32)
