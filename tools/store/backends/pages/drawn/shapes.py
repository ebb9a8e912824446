"""Shapes as signed distances in pixels, negative inside (Quilez, "2D distance functions"): edges come out smooth by
themselves, and an outline is a band around zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
EVERYWHERE: Box = (-1e6, -1e6, 1e6, 1e6)


@dataclass(frozen=True, slots=True)
class Shape:
    """`distance` takes x and y of pixels; outside of `box` there is nothing of it."""

    distance: Callable[[Field, Field], Field]
    box: Box = EVERYWHERE


def around(x: float, y: float, size: float) -> Callable[[float, float], Point]:
    """Points by how many sizes they are to the right of a place, and below it."""
    return lambda right, down: (x + right * size, y + down * size)


def length(across: Field, down: Field) -> Field:
    """As `np.hypot`, in a fifth of its time: what overflows there is no picture."""
    return np.sqrt(across * across + down * down)


def ellipse(x: float, y: float, across: float, down: float) -> Shape:
    """`across` and `down` are its radii. The distance is right near the edge, where it counts."""

    def distance(xs: Field, ys: Field) -> Field:
        a, b = (xs - x) / across, (ys - y) / down
        near = length(a, b)
        slope = length(a / across, b / down) + np.float32(1e-6)
        return np.asarray(near * (near - 1) / slope, np.float32)

    return Shape(distance, (x - across, y - down, x + across, y + down))


def convex(*corners: Point) -> Shape:
    """A polygon without a dent, its corners in order."""
    turns = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True))
    corners = corners if turns > 0 else corners[::-1]

    def distance(xs: Field, ys: Field) -> Field:
        sides = []
        for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
            long = max(1e-6, math.hypot(x1 - x0, y1 - y0))
            sides.append(((xs - x0) * (y1 - y0) - (ys - y0) * (x1 - x0)) / long)
        return np.asarray(np.maximum.reduce(sides), np.float32)

    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return Shape(distance, (min(xs), min(ys), max(xs), max(ys)))


def rectangle(left: float, top: float, right: float, bottom: float) -> Shape:
    x, y, across, down = (left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2
    return Shape(lambda xs, ys: np.maximum(np.abs(xs - x) - across, np.abs(ys - y) - down), (left, top, right, bottom))


def stroke(*points: Point, width: float) -> Shape:
    """A line through the points with round ends."""

    def distance(xs: Field, ys: Field) -> Field:
        parts = []
        for (x0, y0), (x1, y1) in pairwise(points):
            dx, dy = x1 - x0, y1 - y0
            along = np.clip(((xs - x0) * dx + (ys - y0) * dy) / max(1e-6, dx * dx + dy * dy), 0, 1).astype(np.float32)
            parts.append(length(xs - x0 - along * dx, ys - y0 - along * dy))
        return np.asarray(np.minimum.reduce(parts) - width / 2, np.float32)

    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Shape(distance, (min(xs) - width, min(ys) - width, max(xs) + width, max(ys) + width))


def spiky(x: float, y: float, across: float, down: float, spikes: Sequence[float]) -> Shape:
    """Around a centre, one spike after the other; each is how far it stands out, as a share of the radius."""
    count, reach = len(spikes), 1 + max(spikes)
    table = np.asarray(spikes, np.float32)

    def distance(xs: Field, ys: Field) -> Field:
        a, b = (xs - x) / across, (ys - y) / down
        turn = (np.arctan2(b, a) / np.float32(2 * np.pi) + 0.5) * count
        which = np.floor(turn)
        out = table[which.astype(np.int32) % count] * (1 - np.abs(2 * (turn - which) - 1))
        return np.asarray((length(a, b) - 1 - out) * (min(across, down) * 0.6), np.float32)

    return Shape(distance, (x - across * reach, y - down * reach, x + across * reach, y + down * reach))


def below(line: Callable[[Field], Field]) -> Shape:
    """Everything under a line that is a height for each x."""
    return Shape(lambda xs, ys: line(xs) - ys)


def together(*shapes: Shape) -> Shape:
    boxes = [shape.box for shape in shapes]
    box = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
    return Shape(lambda xs, ys: np.minimum.reduce([shape.distance(xs, ys) for shape in shapes]), box)


def within(shape: Shape, other: Shape) -> Shape:
    return Shape(lambda xs, ys: np.maximum(shape.distance(xs, ys), other.distance(xs, ys)), shape.box)


def without(shape: Shape, hole: Shape) -> Shape:
    return Shape(lambda xs, ys: np.maximum(shape.distance(xs, ys), -hole.distance(xs, ys)), shape.box)


def edge(shape: Shape, width: float) -> Shape:
    left, top, right, bottom = shape.box
    box = (left - width, top - width, right + width, bottom + width)
    return Shape(lambda xs, ys: np.abs(shape.distance(xs, ys)) - np.float32(width / 2), box)
