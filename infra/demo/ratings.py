"""Sample counts of stars, such that their mean is a title's rating."""

from __future__ import annotations

import math
from collections.abc import Sequence

from infra.demo.drawing import share

STARS = range(1, 6)
_UNCOUNTED = 0.1
"""About one title in ten is rated without anybody having kept the single stars."""
_STEEPEST, _HALVINGS = 12.0, 60


def rating_counts(title_id: str, rating: float | None, count: int | None) -> list[int] | None:
    """How many gave 1 to 5 stars: `count` together, the mean within .01 of `rating` where there are a hundred or more.

    Every rating is likely by a weight drawn for the title, tilted until the mean is right: of all distributions with that
    mean, the nearest to the drawn one (exponential tilting; Csiszár, Annals of Probability 3(1), 1975).
    """
    if rating is None or count is None or share("stars", title_id) < _UNCOUNTED:
        return None
    drawn = [0.5 + share("stars", title_id, stars) for stars in STARS]
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        tilt = (low + high) / 2
        low, high = (tilt, high) if _mean(_tilted(drawn, tilt)) < rating else (low, tilt)
    return _whole(_tilted(drawn, low), count)


def _tilted(weights: Sequence[float], tilt: float) -> list[float]:
    """Shares, the more for the upper stars the greater `tilt` is."""
    tilted = [weight * math.exp(tilt * (stars - 3)) for weight, stars in zip(weights, STARS, strict=True)]
    return [weight / sum(tilted) for weight in tilted]


def _mean(shares: Sequence[float]) -> float:
    return sum(stars * each for stars, each in zip(STARS, shares, strict=True))


def _whole(shares: Sequence[float], count: int) -> list[int]:
    """Whole numbers that add up to `count`, each less than one from its share of it: sums rounded, and their steps."""
    sums = [round(count * sum(shares[: number + 1])) for number in range(len(shares) - 1)]
    return [after - before for before, after in zip([0, *sums], [*sums, count], strict=True)]
