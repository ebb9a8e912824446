"""How far two samples can be told apart: Mann-Whitney, Kolmogorov-Smirnov, and the difference of their medians."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SEED = 20261122
BOOTSTRAPS = 1000
MOST = 0.03
"""How far the AUC may be from 0.5, which is what guessing has."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How far two samples can be told apart. `auc` is the chance that one drawn from the first is larger than one drawn from
    the second (Mann-Whitney's U, ties count half), `p` that of so much by accident; `advantage` is what the best threshold
    has over guessing (Kolmogorov-Smirnov's D)."""

    difference_us: float
    difference_ci: tuple[float, float]
    auc: float
    auc_ci: tuple[float, float]
    p: float
    advantage: float
    advantage_p: float

    @property
    def met(self) -> bool:
        return abs(self.auc - 0.5) <= MOST


def compared(one: NDArray[np.float64], other: NDArray[np.float64], seed: int = SEED) -> Compared:
    draw = np.random.default_rng(seed)
    medians = [np.median(draw.choice(one, one.size)) - np.median(draw.choice(other, other.size)) for _ in range(BOOTSTRAPS)]
    low, high = np.percentile(medians, [2.5, 97.5])
    auc, error, p = _mann_whitney(one, other)
    advantage, advantage_p = _kolmogorov_smirnov(one, other)
    return Compared(
        float(np.median(one) - np.median(other)) * 1e6,
        (float(low) * 1e6, float(high) * 1e6),
        auc,
        (auc - 1.96 * error, auc + 1.96 * error),
        p,
        advantage,
        advantage_p,
    )


def _mann_whitney(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float, float]:
    """AUC, its standard error (DeLong, DeLong and Clarke-Pearson, Biometrics 1988), and the two-sided p of no difference."""
    above = _placements(one, other)
    below = 1 - _placements(other, one)
    auc = float(above.mean())
    error = math.sqrt(above.var(ddof=1) / one.size + below.var(ddof=1) / other.size)
    z = (auc - 0.5) / error if error else 0.0
    return auc, error, math.erfc(abs(z) / math.sqrt(2))


def _placements(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each of the first the share of the second that is smaller, an equal one counting half."""
    ordered = np.sort(other)
    smaller = np.searchsorted(ordered, one, "left") + np.searchsorted(ordered, one, "right")
    return np.asarray(smaller / (2 * other.size), dtype=np.float64)


def _kolmogorov_smirnov(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """D, and by its limiting distribution the p of so much by accident."""
    everything = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(each), everything, "right") / each.size for each in (one, other)]
    d = float(np.abs(shares[0] - shares[1]).max())
    x = d * math.sqrt(one.size * other.size / (one.size + other.size))
    if x < 0.2:
        return d, 1.0
    p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))
    return d, min(1.0, max(0.0, p))
