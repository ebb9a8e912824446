"""From evidence to confidences: how often labels with so much evidence were right.

A logistic curve over the evidence, above the label's usual share (Platt, "Probabilistic outputs for support vector
machines", 1999). Its few numbers were fitted on titles that were held out, of the demo catalogue and of a large one, and lie
between the two: `python -m tests.quality.genres` measures what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.store.classification.said import Said
from tools.store.classification.vote import Vote, vote
from tools.store.models import CatalogTerms, Neighbour

MORE_LIKELY_THAN_NOT = 0.5


@dataclass(frozen=True, slots=True)
class Curve:
    """`surprise`: what a standard error above the usual share adds to the log odds; `said`: what it adds that the text says
    the label's own name."""

    offset: float
    surprise: float
    said: float

    def log_odds(self, surprise: float, *, said: bool) -> float:
        return self.offset + self.surprise * surprise + self.said * said


TAGS = Curve(offset=-0.31, surprise=0.44, said=1.36)
TAGS_BY_WORDS = Curve(offset=0.0, surprise=0.0, said=2.67)
READERSHIPS = Curve(offset=0.0, surprise=0.375, said=3.0)


def tags(near: Sequence[Neighbour], said: Said, terms: CatalogTerms) -> dict[str, float]:
    """Of the tags that the neighbours carry or the text says, those that it makes likelier than they usually are, or more
    likely than not. What a few words come near to is so much less evidence."""
    found = vote([(each.likeness, each.title.tags) for each in near if each.title.tags])
    curve = TAGS if found else TAGS_BY_WORDS
    confidences = {}
    for tag in {*(found.shares if found else ()), *said.tags}:
        if titles := terms.tags.get(tag, 0):
            usual = _share(titles, terms.titles)
            evidence = curve.log_odds(said.telling * _surprise(found, tag, usual), said=tag in said.tags)
            confidence = _logistic(math.log(usual / (1 - usual)) + evidence)
            if confidence > min(usual, MORE_LIKELY_THAN_NOT):
                confidences[tag] = confidence
    return surest_first(confidences)


def readerships(near: Sequence[Neighbour], said: Said, terms: CatalogTerms) -> dict[str, float]:
    """All that the catalogue has; together 1. Nothing where there is nothing to go by."""
    found = vote([(each.likeness, (each.title.genre,)) for each in near if each.title.genre])
    if found is None and not said.readerships:
        return {}
    every = sum(terms.readerships.values())
    weights = {}
    for readership, titles in terms.readerships.items():
        usual = _share(titles, every)
        surprise = said.telling * _surprise(found, readership, usual)
        evidence = READERSHIPS.log_odds(surprise, said=readership in said.readerships)
        weights[readership] = usual * math.exp(min(evidence, 50.0))
    total = sum(weights.values())
    return surest_first({readership: weight / total for readership, weight in weights.items()})


def surest_first(confidences: Mapping[str, float]) -> dict[str, float]:
    """Equal ones by the alphabet."""
    return dict(sorted(confidences.items(), key=lambda each: (-each[1], each[0])))


def _surprise(found: Vote | None, label: str, usual: float) -> float:
    return 0.0 if found is None else found.surprise(label, usual)


def _share(titles: int, every: int) -> float:
    """With a title more that has the label and one that has not: nothing is certain."""
    return (min(titles, every) + 1) / (every + 2)


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(min(log_odds, 50.0), -50.0)))
