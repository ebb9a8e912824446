"""What labels are worth: F1 over labels and in all, and how far confidences are from what came true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

BINS = 10
Given = Sequence[tuple[Collection[str], Collection[str]]]
"""(labels that were given, labels that are right), a text each."""


@dataclass(frozen=True, slots=True)
class F1:
    """`macro`: the mean over labels that are right for some text; `micro`: over all pairs of text and label."""

    macro: float
    micro: float


def f1(given: Given) -> F1:
    said, right, both = Counter[str](), Counter[str](), Counter[str]()
    for labels, true in given:
        said.update(set(labels))
        right.update(set(true))
        both.update(set(labels) & set(true))
    each = [2 * both[label] / (said[label] + right[label]) for label in right]
    every = said.total() + right.total()
    return F1(sum(each) / max(1, len(each)), 2 * both.total() / max(1, every))


def calibration_error(stated: Iterable[tuple[float, bool]]) -> float:
    """Expected calibration error (Naeini et al. 2015) of (confidence, came true), in ten bins of equal width."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for confidence, true in stated:
        bins[min(BINS - 1, int(confidence * BINS))].append((confidence, true))
    every = sum(map(len, bins))
    off = (abs(sum(c for c, _ in each) - sum(true for _, true in each)) for each in bins)
    return sum(off) / max(1, every)


def brier(stated: Sequence[dict[str, float]], right: Sequence[str]) -> float:
    """Of distributions over labels (Brier 1950): 0 is certain and right, 2 certain and wrong."""
    total = sum(
        sum((confidence - (label == true)) ** 2 for label, confidence in each.items()) + (true not in each)
        for each, true in zip(stated, right, strict=True)
    )
    return total / max(1, len(right))
