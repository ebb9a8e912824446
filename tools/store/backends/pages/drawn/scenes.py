"""What panels show. Each scene is drawn within a box, and said in a few words."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tools.store.backends.pages.drawn.canvas import INK, PAPER, Canvas
from tools.store.backends.pages.drawn.people import CALM, GLAD, SURPRISED, Hero, cat
from tools.store.backends.pages.drawn.shapes import (
    Box,
    Field,
    around,
    below,
    convex,
    ellipse,
    rectangle,
    spiky,
    stroke,
    within,
    without,
)
from tools.store.backends.pages.drawn.tones import attention, dots, fading, speed

Scene = Callable[[Canvas, Box, Hero, Random], str]
"""Draws, and says what."""


def city(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    on.fill(dots(fading(top, bottom, 0.6)))
    on.paint(ellipse(left + (right - left) * random.uniform(0.2, 0.8), top + (bottom - top) * 0.3, 22, 22), PAPER)
    x = left - 5.0
    while x < right:
        wide, roof = random.uniform(22, 46), bottom - (bottom - top) * random.uniform(0.25, 0.65)
        on.outlined(rectangle(x, roof, x + wide, bottom + 9), random.choice((INK, PAPER, dots(0.35))), 1.5)
        for row in range(int((bottom - roof) // 13)):
            if random.random() < 0.6:
                on.outlined(rectangle(x + 6, roof + 6 + 13 * row, x + 11, roof + 12 + 13 * row), PAPER, 1)
        x += wide
    return "a town in the evening"


def hills(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    tall = bottom - top
    on.outlined(ellipse((left + right) / 2, top + 0.42 * tall, 0.24 * tall, 0.24 * tall), PAPER, 1.5)
    for number, dark in enumerate((0.15, 0.35, 0.6)):
        height, turn = top + tall * (0.5 + 0.15 * number), random.uniform(0, 6)
        line = _waves(height, 0.06 * tall, random.uniform(0.012, 0.03), turn)
        on.outlined(below(line), dots(dark), 1.5)
    for _ in range(3):
        x, y = random.uniform(left, right), top + random.uniform(0.08, 0.3) * tall
        on.paint(stroke((x - 7, y - 4), (x, y), (x + 7, y - 4), width=1.5), INK)
    return "hills and a large sun"


def sea(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    tall, x = bottom - top, left + (right - left) * random.uniform(0.35, 0.65)
    y, sail = top + 0.62 * tall, 0.42 * tall
    on.fill(dots(fading(top, top + 0.7 * tall, 0.35)))
    at = around(x, y, sail)
    on.outlined(convex((x, y - sail), (x + 0.55 * sail, y - 4), (x, y - 4)), PAPER)
    on.outlined(convex((x - 5, y - 0.85 * sail), (x - 5, y - 4), (x - 0.35 * sail, y - 4)), PAPER)
    on.outlined(convex(at(-0.5, 0), at(0.6, 0), at(0.4, 0.22), at(-0.35, 0.22)), INK)
    for number in range(4):
        line = _waves(y + 6 + 0.09 * tall * number, 3.5, 0.06, random.uniform(0, 6))
        on.outlined(below(line), PAPER if number % 2 == 0 else dots(0.3), 1.5)
    return "a sailing boat at sea"


def night(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    wide, tall = right - left, bottom - top
    on.fill(INK)
    for _ in range(24):
        x, y, star = random.uniform(left, right), top + random.random() * 0.6 * tall, random.uniform(0.6, 1.8)
        on.paint(ellipse(x, y, star, star), PAPER)
    moon = left + wide * random.uniform(0.2, 0.75)
    on.paint(ellipse(moon, top + 0.3 * tall, 0.17 * tall, 0.17 * tall), PAPER)
    wall = bottom - 0.22 * tall
    on.outlined(rectangle(left - 9, wall, right + 9, bottom + 9), dots(0.4), 2)
    on.paint(ellipse(moon, wall - 0.3 * tall, 0.24 * tall, 0.3 * tall), dots(0.12))
    cat(on, moon, wall, 0.24 * tall)
    return "a cat on a wall under the moon"


def portrait(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    wide, tall = right - left, bottom - top
    mood = random.choice((CALM, GLAD))
    on.fill(dots(fading(top, bottom, 0.0, 0.35)))
    size = min(wide, tall) * 0.3
    hero.bust(on, left + wide * random.uniform(0.4, 0.6), top + 0.52 * tall, size, mood)
    return f"the hero, {mood}"


def surprise(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    x, y, size = (left + right) / 2, (top + bottom) / 2, min(right - left, bottom - top)
    on.fill(attention(x, y, size * 0.52, random))
    hero.bust(on, x, y + 0.02 * size, size * 0.26, SURPRISED)
    return "the hero, surprised"


def running(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    wide, tall = right - left, bottom - top
    on.fill(speed(random, top, bottom))
    size = 0.34 * tall
    at = around(left + 0.35 * wide, top + 0.56 * tall, size)
    for knee, foot in ((at(0.5, 0.6), at(0.35, 1.1)), (at(-0.45, 0.55), at(-1.0, 0.7))):
        on.paint(stroke(at(0, 0), knee, foot, width=0.24 * size), INK)
    on.paint(stroke(at(0.12, -0.75), at(0, 0.05), width=0.5 * size), INK)
    for elbow, hand in ((at(0.35, -0.1), at(0.7, -0.35)), (at(-0.375, -0.1), at(-0.75, -0.25))):
        on.paint(stroke(at(0.08, -0.65), elbow, hand, width=0.18 * size), INK)
    on.outlined(ellipse(*at(0.2, -1.12), 0.3 * size, 0.32 * size), PAPER)
    on.paint(spiky(*at(0.14, -1.24), 0.3 * size, 0.22 * size, hero.spikes), INK)
    return "somebody running"


def flash(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    x, y, size = (left + right) / 2, (top + bottom) / 2, min(right - left, bottom - top) * 0.28
    on.fill(INK)
    spikes = tuple(random.uniform(0.3, 1.3) for _ in range(22))
    on.paint(spiky(x, y, size * (right - left) / (bottom - top), size, spikes), dots(0.25))
    on.paint(spiky(x, y, 0.8 * size * (right - left) / (bottom - top), 0.8 * size, spikes), PAPER)
    return "a flash of light"


def rain(on: Canvas, box: Box, hero: Hero, random: Random) -> str:
    left, top, right, bottom = box
    tall = bottom - top
    on.fill(dots(fading(top, bottom, 0.45, 0.1)))
    for _ in range(int((right - left) * tall / 900)):
        x, y, long = random.uniform(left, right), random.uniform(top, bottom), random.uniform(12, 30)
        on.paint(stroke((x, y), (x - 0.3 * long, y + long), width=1.4), PAPER)
    x, y, size = (left + right) / 2, top + 0.58 * tall, min(0.34 * tall, 0.36 * (right - left))
    on.paint(stroke((x, y - 1.15 * size), (x, y + 0.75 * size), (x - 0.18 * size, y + 0.75 * size), width=3), INK)
    dome = within(ellipse(x, y, size, size), rectangle(x - size, y - size, x + size, y))
    for share in (-0.67, 0.0, 0.67):
        dome = without(dome, ellipse(x + share * size, y + 0.05 * size, 0.33 * size, 0.22 * size))
    on.outlined(dome, PAPER, 2.5)
    for share in (-0.36, 0.36):
        on.paint(
            stroke((x, y - size), (x + share * 0.8 * size, y - 0.6 * size), (x + share * size, y - 0.1 * size), width=1.5),
            INK,
        )
    return "an umbrella in the rain"


SCENES: tuple[Scene, ...] = (city, hills, sea, night, portrait, surprise, running, flash, rain)


def _waves(height: float, tall: float, often: float, turn: float) -> Callable[[Field], Field]:
    return lambda xs: np.float32(height) + np.float32(tall) * np.sin(xs * np.float32(often) + np.float32(turn))
