"""A volume's cover, in two colours that go with the title's readership, and a band around its foot as in Japan."""

from __future__ import annotations

from colorsys import hls_to_rgb
from random import Random

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.pages.drawn.balloons import plate
from tools.store.backends.pages.drawn.canvas import INK, PAPER, Canvas
from tools.store.backends.pages.drawn.people import CALM, GLAD, Hero
from tools.store.backends.pages.drawn.png import Colour, indexed_png
from tools.store.backends.pages.drawn.shapes import ellipse, rectangle
from tools.store.backends.pages.drawn.sheet import GREYS, stepped
from tools.store.backends.pages.drawn.tones import dots, fading

WIDTH, HEIGHT = 240, 340
HUES = {"shonen": 0.05, "seinen": 0.6, "shojo": 0.93, "josei": 0.79, "kodomo": 0.14}
OTHER_HUE = 0.42
BAND = 268.0
"""Where the band begins."""
MOST_PIPS = 10


def cover(title_id: str, readership: str | None = None, volume: int = 1) -> bytes:
    """A PNG of 240 × 340 pixels and some 4 KB, the same bytes each time. For a data URI, or for a page. It takes a few
    milliseconds, so it is called on a thread."""
    hero, random = Hero.drawn_by(Random(f"hero of {title_id}")), Random(f"cover of {title_id}/{volume}")
    canvas = Canvas.blank(WIDTH, HEIGHT)
    canvas.fill(dots(fading(0, BAND, 0.5, 0.05)))
    sun = ellipse(WIDTH / 2, 158, 88, 88)
    canvas.outlined(sun, PAPER, 3)
    hero.bust(canvas, WIDTH / 2, 168, 54, random.choice((CALM, GLAD)))
    plate(canvas, 18, 16, WIDTH - 18, 60, Random(f"name of {title_id}"))
    canvas.paint(rectangle(-9, BAND, WIDTH + 9, HEIGHT + 9), PAPER)
    canvas.paint(rectangle(-9, BAND, WIDTH + 9, BAND + 4), INK)
    plate(canvas, 70, BAND + 18, WIDTH - 20, BAND + 44, random)
    _pips(canvas, volume)
    return indexed_png(_coloured(canvas), _palette(title_id, readership))


def _pips(on: Canvas, volume: int) -> None:
    """The volume's number, as far as ten, as dots in two rows."""
    for number in range(min(volume, MOST_PIPS)):
        on.paint(ellipse(16 + 10 * (number % 5), BAND + 24 + 14 * (number // 5), 3.5, 3.5), INK)


def _coloured(canvas: Canvas) -> NDArray[np.uint8]:
    """Each part in its own colours: the band, and what is above it."""
    pixels = stepped(canvas)
    pixels[int(BAND) :] += GREYS
    return pixels


def _palette(title_id: str, readership: str | None) -> list[Colour]:
    hue = HUES.get(readership or "", OTHER_HUE) + Random(f"colour of {title_id}").uniform(-0.035, 0.035)
    return [*_ramp(hue, 0.86), *_ramp(hue + 0.47, 0.8)]


def _ramp(hue: float, lightest: float) -> list[Colour]:
    """From ink to the colour."""
    steps = [0.12 + (lightest - 0.12) * n / (GREYS - 1) for n in range(GREYS)]
    mixed = [hls_to_rgb(hue % 1, light, 0.72) for light in steps]
    return [(round(255 * red), round(255 * green), round(255 * blue)) for red, green, blue in mixed]
