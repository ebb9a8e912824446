"""Who is seen on the pages of a volume: a hero with a head of hair, and a cat."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tools.store.backends.pages.drawn.canvas import INK, PAPER, Canvas
from tools.store.backends.pages.drawn.shapes import around, convex, ellipse, spiky, stroke, together
from tools.store.backends.pages.drawn.tones import Tone, dots

CALM, GLAD, SURPRISED = "calm", "glad", "surprised"


@dataclass(frozen=True, slots=True)
class Hero:
    """The same on every page of a title. `spikes` are those of the hair, `long` is hair to the shoulders."""

    spikes: tuple[float, ...]
    hair: float | Tone
    long: bool
    fringe: tuple[float, ...]

    @classmethod
    def drawn_by(cls, random: Random) -> Hero:
        hair: tuple[float | Tone, ...] = (INK, INK, dots(0.4), dots(0.2))
        tall, count = random.uniform(0.12, 0.5), random.randint(11, 19)
        return cls(
            spikes=tuple(random.uniform(0.3, 1.0) * tall for _ in range(count)),
            hair=hair[random.randrange(len(hair))],
            long=random.random() < 0.5,
            fringe=tuple(random.uniform(-0.15, 0.15) for _ in range(5)),
        )

    def bust(self, on: Canvas, x: float, y: float, size: float, mood: str = CALM) -> None:
        """Head and shoulders; `size` is from the middle of the face to its side."""
        self._behind(on, x, y, size)
        self._clothes(on, x, y, size)
        face = together(ellipse(x, y, size, size * 1.02), ellipse(x, y + 0.45 * size, size * 0.7, size * 0.78))
        on.outlined(face, PAPER)
        self._front(on, x, y, size)
        _face(on, x, y, size, mood)

    def _behind(self, on: Canvas, x: float, y: float, size: float) -> None:
        if self.long:
            on.outlined(ellipse(x, y + 0.7 * size, size * 1.3, size * 1.7), self.hair)
        on.outlined(spiky(x, y - 0.15 * size, size * 1.18, size * 1.2, self.spikes), self.hair)

    def _clothes(self, on: Canvas, x: float, y: float, size: float) -> None:
        at = around(x, y, size)
        on.outlined(convex(at(-0.5, 1.5), at(0.5, 1.5), at(2.0, 5), at(-2.0, 5)), dots(0.3))
        on.outlined(convex(at(-0.28, 0), at(0.28, 0), at(0.4, 1.7), at(-0.4, 1.7)), PAPER)

    def _front(self, on: Canvas, x: float, y: float, size: float) -> None:
        """A fringe of locks, from ear to ear."""
        on.paint(ellipse(x, y - 0.72 * size, 0.9 * size, 0.4 * size), self.hair)
        wide, count = 2.1 * size, len(self.fringe)
        for number, lean in enumerate(self.fringe):
            left = x - wide / 2 + wide * number / count
            right = left + wide / count * 1.25
            tip = ((left + right) / 2 + lean * size, y + (-0.12 + abs(lean)) * size)
            start, end = (left, y - 0.8 * size), (right, y - 0.8 * size)
            on.paint(convex(start, end, tip), self.hair)
            on.paint(stroke(start, tip, end, width=1.5), INK)


def _face(on: Canvas, x: float, y: float, size: float, mood: str) -> None:
    tall, lift = (0.32, 0.12) if mood == SURPRISED else (0.26, 0.0)
    for side in (-1, 1):
        at = around(x + side * 0.42 * size, y, size)
        on.paint(ellipse(*at(0, 0.18), 0.15 * size, tall * size), INK)
        on.paint(ellipse(*at(-0.05, 0.06), 0.06 * size, 0.09 * size), PAPER)
        brow = -0.26 - lift
        on.paint(stroke(at(-side * 0.2, brow - 0.02), at(side * 0.2, brow), width=0.06 * size), INK)
    _mouth(on, x, y + 0.78 * size, size, mood)


def _mouth(on: Canvas, x: float, y: float, size: float, mood: str) -> None:
    at = around(x, y, size)
    if mood == SURPRISED:
        on.outlined(ellipse(x, y, 0.12 * size, 0.18 * size), INK, 1)
    elif mood == GLAD:
        on.outlined(convex(at(-0.26, -0.08), at(0.26, -0.08), at(0, 0.2)), PAPER)
    else:
        on.paint(stroke(at(-0.14, 0), at(0.14, 0), width=0.05 * size), INK)


def cat(on: Canvas, x: float, y: float, size: float) -> None:
    """It sits, seen from behind, its feet at `y`."""
    at = around(x, y, size)
    ears = [convex(at(s * 0.1 - 0.16, -1.5), at(s * 0.42, -1.95), at(s * 0.1 + 0.2, -1.5)) for s in (-1, 1)]
    tail = stroke(at(0.4, -0.1), at(0.95, -0.15), at(1.15, -0.7), width=0.18 * size)
    body = ellipse(*at(0, -0.55), 0.55 * size, 0.6 * size)
    head = ellipse(*at(0, -1.35), 0.42 * size, 0.36 * size)
    on.paint(together(body, head, tail, *ears), INK)
