"""Sample counts of 1 to 5 stars whose mean is a title's rating."""

from __future__ import annotations

import math
from collections.abc import Sequence

from infra.demo.drawing import share

STARS = range(1, 6)
_UNCOUNTED = 0.1
"""Share of titles with a rating but without counts of stars."""
_STEEPEST, _HALVINGS = 12.0, 60


def rating_counts(title_id: str, rating: float | None, count: int | None) -> list[int] | None:
    """Returns how many ratings have 1, 2, 3, 4 and 5 stars: `count` in total, the mean within .02 of `rating` for a hundred
    or more. None if `rating` or `count` is None, and for a tenth of the titles.

    Each number of stars has a weight drawn for the title. The weights are tilted until the mean is right: of all
    distributions with that mean, the result is nearest to the drawn one (exponential tilting; Csiszár, Annals of Probability
    3(1), 1975)."""
    if rating is None or count is None or share("stars", title_id) < _UNCOUNTED:
        return None
    drawn = [0.5 + share("stars", title_id, stars) for stars in STARS]
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        tilt = (low + high) / 2
        low, high = (tilt, high) if _mean(_tilted(drawn, tilt)) < rating else (low, tilt)
    return _whole(_tilted(drawn, low), count)


def _tilted(weights: Sequence[float], tilt: float) -> list[float]:
    """Returns the weights as shares of their sum; the greater `tilt` is, the more the shares favour the upper stars."""
    tilted = [weight * math.exp(tilt * (stars - 3)) for weight, stars in zip(weights, STARS, strict=True)]
    return [weight / sum(tilted) for weight in tilted]


def _mean(shares: Sequence[float]) -> float:
    return sum(stars * each for stars, each in zip(STARS, shares, strict=True))


def _whole(shares: Sequence[float], count: int) -> list[int]:
    """Rounds shares of `count` to whole numbers that add up to `count`, each off by at most one."""
    sums = [round(count * sum(shares[: number + 1])) for number in range(len(shares) - 1)]
    return [after - before for before, after in zip([0, *sums], [*sums, count], strict=True)]
