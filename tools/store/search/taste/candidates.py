"""What the rule of taste asks of a catalogue about the titles that it puts in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tools.store.search.arrays import Floats, Mask


class TasteCandidates(Protocol):
    """All arrays have one row a candidate."""

    prior: Floats
    """How well known each is, 0 to 1."""

    def sharing(self, tags: Mapping[str, float]) -> Floats:
        """The product of each title's unit vector of tags with these weights."""
        ...

    def tagged(self, tags: Sequence[str]) -> Mask:
        """Whether each carries one of the tags."""
        ...

    def of_readerships(self, shares: Mapping[str, float]) -> Floats:
        """The share of each title's readership."""
        ...

    def of_magazines(self, shares: Mapping[str, float]) -> Floats:
        """The share of each title's magazine."""
        ...

    def of_authors(self, shares: Mapping[str, float]) -> Floats:
        """The largest share among each title's authors."""
        ...

    def near_years(self, years: Mapping[int, float], span: float) -> Floats:
        """How near each title's first year is to these: the shares, each times exp(-distance / span), summed."""
        ...

    def worth(self, fits: Mapping[str, float]) -> Floats:
        """What is said of each title by id; 0 of those that are not named."""
        ...
