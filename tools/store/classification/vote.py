"""What the neighbours of a text are labelled with.

A vote of the k nearest neighbours, weighted by how near they are (Dudani, "The distance-weighted k-nearest-neighbor rule",
1976). A label that half of all titles carry says little when half of the neighbours do: what counts is by how much the
share exceeds the catalogue's own, in standard errors of a sample of that size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

SHARPNESS = 15.0
"""The weight of a neighbour falls to a third where its likeness is 0.07 less than the nearest one's."""


@dataclass(frozen=True, slots=True)
class Vote:
    """`shares` of the weight by label. `voters`: how many voters of equal weight would be as sure (Kish, "Survey Sampling",
    1965)."""

    shares: Mapping[str, float]
    voters: float

    def surprise(self, label: str, usual: float) -> float:
        """How far the label's share is from its `usual` one, between 0 and 1, in standard errors."""
        usual = min(max(usual, 1e-6), 1 - 1e-6)
        return (self.shares.get(label, 0.0) - usual) / math.sqrt(usual * (1 - usual) / self.voters)


def vote(voters: Sequence[tuple[float, Collection[str]]]) -> Vote | None:
    """`voters` are (likeness, labels). None where nobody votes."""
    if not voters:
        return None
    best = max(likeness for likeness, _ in voters)
    weights = [math.exp(SHARPNESS * (likeness - best)) for likeness, _ in voters]
    total, shares = sum(weights), dict[str, float]()
    for weight, (_, labels) in zip(weights, voters, strict=True):
        for label in labels:
            shares[label] = shares.get(label, 0.0) + weight / total
    return Vote(shares, total**2 / sum(weight**2 for weight in weights))
