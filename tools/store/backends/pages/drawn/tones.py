"""What areas are filled with: the dots of a screentone, and lines of speed and attention."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tools.store.backends.pages.drawn.shapes import Field, length

Tone = Callable[[Field, Field], Field]
"""Of pixels' x and y: how light each is, from 0 for ink to 1 for paper."""
PITCH = 6
"""Pixels from dot to dot, whole ones: what repeats is small as PNG."""


def dots(dark: float | Tone, pitch: int = PITCH) -> Tone:
    """A screen at 45°, whose dots grow with how `dark` it is, from 0 to 1."""

    def tone(xs: Field, ys: Field) -> Field:
        share = dark(xs, ys) if callable(dark) else dark
        turn = np.float32(np.pi / pitch)
        screen = np.cos((xs + ys) * turn) * np.cos((xs - ys) * turn)
        edge = np.cos(np.float32(np.pi) * (1 - np.clip(share, 0, 1)))
        return np.asarray(np.clip(0.5 - (screen * screen * np.sign(screen) + edge) * pitch * 0.4, 0, 1), np.float32)

    return tone


def fading(top: float, bottom: float, most: float, least: float = 0.0) -> Tone:
    """How dark: `most` at the height `top`, `least` at `bottom`."""
    return lambda xs, ys: np.clip((ys - top) / (bottom - top), 0, 1) * np.float32(least - most) + most + 0 * xs


def attention(x: float, y: float, clear: float, random: Random, count: int = 72) -> Tone:
    """Lines from all sides towards a place, which they leave `clear` pixels around."""
    starts = np.asarray([random.uniform(0.75, 1.5) for _ in range(count)], np.float32) * clear
    widths = np.asarray([random.uniform(0.1, 0.75) for _ in range(count)], np.float32)

    def tone(xs: Field, ys: Field) -> Field:
        far = length(xs - x, ys - y)
        turn = (np.arctan2(ys - y, xs - x) / np.float32(2 * np.pi) + 0.5) * count
        which = np.floor(turn).astype(np.int32) % count
        aside = np.abs(turn - np.floor(turn) - 0.5) * (far * np.float32(2 * np.pi / count))
        half = np.minimum((far - starts[which]) * 0.03, widths[which] * far * np.float32(np.pi / count))
        return np.asarray(np.clip(0.5 + aside - half, 0, 1), np.float32)

    return tone


def speed(random: Random, top: float, bottom: float, lines: int = 26) -> Tone:
    """Level lines, thin at one end."""
    heights = np.asarray(sorted(random.uniform(top, bottom) for _ in range(lines)), np.float32)
    thick = np.asarray([random.uniform(0.4, 2.2) for _ in range(lines)], np.float32)

    def tone(xs: Field, ys: Field) -> Field:
        column = ys[:, :1]
        near = np.abs(heights[None, :] - column).argmin(axis=1)
        aside = np.abs(heights[near][:, None] - column)
        taper = np.clip((xs - xs.min()) / max(1.0, float(np.ptp(xs))), 0, 1)
        return np.asarray(np.clip(0.5 + aside - thick[near][:, None] * taper, 0, 1), np.float32)

    return tone
