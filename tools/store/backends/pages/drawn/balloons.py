"""Speech without words: balloons with columns of strokes where the words would stand."""

from __future__ import annotations

from random import Random

from tools.store.backends.pages.drawn.canvas import INK, PAPER, Canvas
from tools.store.backends.pages.drawn.shapes import Shape, convex, ellipse, rectangle, spiky, together
from tools.store.backends.pages.drawn.tones import dots

COLUMN, SIGN = 9.0, 7.0
"""Pixels from column to column, and from sign to sign in it."""


def balloon(on: Canvas, x: float, y: float, size: float, random: Random, *, loud: bool = False) -> None:
    """`size` is half its height. Its words are columns, read from the right."""
    on.outlined(_form(x, y, size, random, loud=loud), PAPER, 2)
    columns = max(2, int(size / 14))
    for number in range(columns):
        signs = max(2, int(size * random.uniform(0.7, 1.05) / SIGN))
        left = x + (columns / 2 - 1 - number) * COLUMN + 2
        top = y - size * 0.55
        for place in range(signs):
            tall = random.uniform(3.5, 5)
            on.paint(rectangle(left, top + place * SIGN, left + 5, top + place * SIGN + tall), INK if loud else 0.25)


def _form(x: float, y: float, size: float, random: Random, *, loud: bool) -> Shape:
    across = size * 0.78
    if loud:
        return spiky(x, y, across, size * 0.85, tuple(random.uniform(0.15, 0.45) for _ in range(18)))
    side = random.choice((-1, 1))
    tail = convex(
        (x + side * 0.1 * size, y + 0.75 * size),
        (x + side * 0.4 * size, y + 0.65 * size),
        (x + side * 0.5 * size, y + 1.3 * size),
    )
    return together(ellipse(x, y, across, size), tail)


def plate(on: Canvas, left: float, top: float, right: float, bottom: float, random: Random) -> None:
    """A plate where a name would stand, with large signs of nobody's script."""
    on.outlined(rectangle(left + 4, top + 4, right + 4, bottom + 4), INK)
    on.outlined(rectangle(left, top, right, bottom), PAPER, 3)
    wide, tall = right - left, bottom - top
    signs = max(3, int(max(wide, tall) / (min(wide, tall) * 0.85)))
    for number in range(signs):
        share = (number + 0.5) / signs
        x, y = (left + wide * share, (top + bottom) / 2) if wide > tall else ((left + right) / 2, top + tall * share)
        _sign(on, x, y, min(wide, tall) * 0.3, random)


def _sign(on: Canvas, x: float, y: float, size: float, random: Random) -> None:
    """Like a letter that nobody can read: three bars."""
    for at in (-0.75, 0.0, 0.75):
        if random.random() < 0.75:
            on.paint(
                rectangle(
                    x - size * random.uniform(0.4, 1),
                    y + at * size - 0.16 * size,
                    x + size * random.uniform(0.4, 1),
                    y + at * size + 0.16 * size,
                ),
                INK,
            )
    post = x + random.choice((-0.6, 0.0, 0.6)) * size
    on.paint(
        rectangle(post - 0.15 * size, y - size, post + 0.15 * size, y + size), dots(0.9) if random.random() < 0.1 else INK
    )
