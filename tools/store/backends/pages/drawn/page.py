"""One page of a volume: the first has the title's picture, the others have panels."""

from __future__ import annotations

from random import Random

from tools.store.backends.pages.drawn.balloons import balloon, plate
from tools.store.backends.pages.drawn.canvas import INK, Canvas
from tools.store.backends.pages.drawn.layout import panels
from tools.store.backends.pages.drawn.people import GLAD, Hero
from tools.store.backends.pages.drawn.scenes import SCENES, flash, hills, night, surprise
from tools.store.backends.pages.drawn.shapes import edge, rectangle
from tools.store.backends.pages.drawn.sheet import HEIGHT, INSIDE, WIDTH, printed
from tools.store.backends.pages.drawn.tones import attention
from tools.store.models import Page

WORDLESS = (flash, hills, night)
LEAST_FOR_SPEECH = 96.0
"""Pixels that a panel measures at least where somebody speaks."""


def drawn_page(title_id: str, volume: int, number: int) -> Page:
    """The same bytes each time."""
    hero, random = Hero.drawn_by(Random(f"hero of {title_id}")), Random(f"{title_id}/{volume}/{number}")
    canvas = Canvas.blank(WIDTH, HEIGHT)
    seen = _title_page(canvas, hero, random) if number == 1 else _panels(canvas, hero, random)
    return Page(number, "image/png", printed(canvas), f"a drawn placeholder of the demo shop. {seen}")


def _title_page(canvas: Canvas, hero: Hero, random: Random) -> str:
    left, top, right, bottom = INSIDE
    frame = rectangle(*INSIDE)
    on, x, y = canvas.within(frame), (left + right) / 2, top + 0.5 * (bottom - top)
    on.fill(attention(x, y, 165, random, 56))
    hero.bust(on, x, y + 8, 80, GLAD)
    plate(on, right - 70, top + 18, right - 20, top + 246, random)
    plate(on, left + 56, bottom - 64, right - 56, bottom - 24, random)
    canvas.paint(edge(frame, 3), INK)
    return "The title page, with the hero, glad."


def _panels(canvas: Canvas, hero: Hero, random: Random) -> str:
    divided = panels(INSIDE, random)
    scenes, said = random.sample(SCENES, len(divided)), []
    for panel, scene in zip(divided, scenes, strict=True):
        on = canvas.within(panel.shape)
        said.append(scene(on, panel.box, hero, random))
        if scene not in WORDLESS:
            _speech(on, panel.box, random, loud=scene is surprise)
        canvas.paint(edge(panel.shape, 3), INK)
    return f"{len(said)} panels, read from the right: {'; '.join(said)}."


def _speech(on: Canvas, box: tuple[float, float, float, float], random: Random, *, loud: bool) -> None:
    left, top, right, bottom = box
    wide, tall = right - left, bottom - top
    if min(wide, tall) < LEAST_FOR_SPEECH:
        return
    size = min(0.24 * tall, 0.2 * wide, 52.0)
    side = right - 0.17 * wide if random.random() < 0.6 else left + 0.17 * wide
    balloon(on, side, top + 0.3 * tall, size, random, loud=loud)
