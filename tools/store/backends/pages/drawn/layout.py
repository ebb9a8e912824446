"""How a page is divided into panels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tools.store.backends.pages.drawn.shapes import Box, Shape, convex

GUTTER, LEVEL_GUTTER = 8.0, 14.0
"""Pixels between the panels of a row, and between rows."""
SLANT = 12.0
ROWS = ((1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 2, 1), (2, 1), (1, 3, 1), (2, 3, 1), (1, 2))
"""Panels of each row."""


@dataclass(frozen=True, slots=True)
class Panel:
    shape: Shape
    box: Box


def panels(inside: Box, random: Random) -> list[Panel]:
    """In the order in which they are read: from the top, and in each row from the right."""
    left, top, right, bottom = inside
    rows = random.choice(ROWS)
    lines = _cuts(top, bottom, len(rows), random)
    tilts = [0.0, *(random.uniform(-SLANT, SLANT) for _ in rows[1:]), 0.0]
    found = []
    for number, ((high, low), count) in enumerate(zip(pairwise(lines), rows, strict=True)):
        above, under = _gap(number > 0, LEVEL_GUTTER), _gap(number < len(rows) - 1, LEVEL_GUTTER)
        row = (high + above, low - under, tilts[number], tilts[number + 1])
        found += _row(left, right, row, count, random)
    return found


def _row(left: float, right: float, row: tuple[float, float, float, float], count: int, random: Random) -> list[Panel]:
    high, low, tilt_above, tilt_under = row
    cuts = _cuts(left, right, count, random)
    leans = [0.0, *(random.uniform(-SLANT, SLANT) for _ in range(count - 1)), 0.0]
    found = []
    for number, (start, end) in enumerate(pairwise(cuts)):
        start, end = start + _gap(number > 0, GUTTER), end - _gap(number < count - 1, GUTTER)
        corners = []
        for x, y in (
            (start + leans[number], high),
            (end + leans[number + 1], high),
            (end - leans[number + 1], low),
            (start - leans[number], low),
        ):
            share = (x - left) / (right - left) - 0.5
            corners.append((x, y + share * (tilt_above if y == high else tilt_under)))
        shape = convex(*corners)
        found.append(Panel(shape, shape.box))
    return found[::-1]


def _cuts(start: float, end: float, count: int, random: Random) -> list[float]:
    shares = [random.uniform(0.75, 1.35) for _ in range(count)]
    places = [start]
    for share in shares:
        places.append(places[-1] + (end - start) * share / sum(shares))
    return [*places[:-1], end]


def _gap(there: bool, width: float) -> float:
    return width / 2 if there else 0.0
