"""Candidates to an order: the one way from a parsed query to its answers, whatever backend recalled them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.store.models import Ordering
from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.evidence import Evidence, evidence_of, leader_of, with_series
from tools.store.search.ranking.fusion import followed, fuse, fuse_among, least_name, order, to_order
from tools.store.search.ranking.names import series_of
from tools.store.search.ranking.weights import Weights


@dataclass(frozen=True, slots=True)
class Ranked:
    """`scores` has a row for each candidate; 0 is no answer. `evidence` is what they come from; None where titles are not
    ranked by what a query says, but by how like another title they are.

    `ordering`: what the answers are to be put in order by, where not by score. `leader`: the row of the title whose series
    follows it; a backend that recalls a few titles may have to fetch the rest of it. `guessed`: the best answer is one only
    because its name is somewhat like the query. `near`: where nothing matches, the rows of those with the nearest names,
    nearest first. `nearest`: a condition leaves out most of what the query finds, and what comes nearest follows.
    """

    scores: Floats
    evidence: Evidence | None = None
    ordering: Ordering | None = None
    leader: int | None = None
    guessed: bool = False
    near: Sequence[int] = ()
    nearest: bool = False

    @property
    def answers(self) -> int:
        """How many candidates are answers."""
        return int(np.count_nonzero(self.scores))

    def best(self, limit: int) -> Sequence[int]:
        """Rows of the best `limit` answers by score, best first."""
        return [int(row) for row in order(self.scores, limit)]


def rank(query: ParsedQuery, candidates: Candidates, weights: Weights, allowed: Mask | None = None) -> Ranked:
    """The candidates by how well they answer the query, those that are not `allowed` left out.

    They are left out last: what else answers has set the floor, so that a condition narrows what the query alone finds.
    Where it would leave next to nothing of a described story, the nearest that are allowed follow, `few` in all at most, and
    never more than the query alone has.
    """
    evidence = evidence_of(query, candidates, weights)
    scores = fuse(query, evidence, weights)
    leader = leader_of(scores, evidence, weights)
    if leader is not None:
        scores = with_series(scores, evidence.prior, leader, series_of(leader, candidates, weights), weights)
    free, scores = scores, _only(allowed, scores)
    few = min(weights.few, int(np.count_nonzero(free)))
    nearest = allowed is not None and int(np.count_nonzero(scores)) < few
    if allowed is not None and nearest:
        scores = followed(scores, fuse_among(query, evidence, allowed, weights), few)
    if not scores.any():
        return Ranked(scores, evidence, near=near_names(evidence, weights, allowed))
    ordering, guessed = ordering_of(query, scores, evidence, weights), is_guess(scores, evidence, weights)
    if ordering is not None:
        scores = to_order(query, scores, evidence, weights)
    return Ranked(scores, evidence, ordering, leader, guessed, nearest=nearest)


def is_guess(scores: Floats, evidence: Evidence, weights: Weights) -> bool:
    """True if the best title is an answer only because its name is somewhat like the query."""
    best = int(np.argmax(scores))
    likeness = evidence.names[best]
    if not weights.name_threshold <= likeness < weights.sure_name:
        return False
    # Fusion takes the strongest of name, author and story, and adds fame: nothing was stronger than the name.
    return bool(scores[best] <= likeness + np.float32(weights.name_prior) * evidence.prior[best] + np.float32(1e-4))


def near_names(evidence: Evidence, weights: Weights, allowed: Mask | None = None) -> Sequence[int]:
    """The rows of the titles with the nearest names, nearest first."""
    near = _only(allowed, np.where(evidence.names >= weights.near_name, evidence.names, np.float32(0.0)).astype(np.float32))
    return [int(row) for row in order(near, weights.most_near)]


def ordering_of(query: ParsedQuery, scores: Floats, evidence: Evidence, weights: Weights) -> Ordering | None:
    """The ordering that is asked for, where there is something to order: what is called so stays first ("latest One Piece"
    asks for the volume)."""
    named = evidence.names[int(np.argmax(scores))] >= least_name(query, weights)
    return None if named else query.ordering


def _only(allowed: Mask | None, scores: Floats) -> Floats:
    return scores if allowed is None else np.where(allowed, scores, np.float32(0.0))
