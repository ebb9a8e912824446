"""The legs' evidence to one order, by what the query looks like.

Reciprocal rank fusion (Cormack et al. 2009) trusts every leg alike and is worse than BM25 alone on titles and authors: an
embedder ranks *something* first for any name. Here each intent has a score on one scale of 0 to 1 and the strongest
explains the title: it is called this, it is by them, or it is about that. What is below the floor is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.search.evidence import Evidence, Floats
from tools.store.search.query import ParsedQuery
from tools.store.search.text import has_cjk


@dataclass(frozen=True, slots=True)
class Weights:
    """Tuned on a judged set; the defaults are the tuned ones. Each is explained where it is used."""

    name_threshold: float = 0.66
    words: float = 0.7
    tags: float = 0.12
    meaning: float = 0.65
    headline: float = 0.5
    theme_scale: float = 0.8
    tagged: float = 0.75
    prior: float = 0.12
    name_prior: float = 0.06
    author: float = 0.92
    unsure_prior: float = 0.75
    kin: float = 0.9
    sure: float = 0.4
    many: int = 50
    floor: float = 0.3
    relative_floor: float = 0.6
    exact: float = 0.97
    floor_beside_exact: float = 0.7
    known: float = 0.55
    sure_meaning: float = 0.4


def fuse(reading: ParsedQuery, evidence: Evidence, weights: Weights | None = None) -> Floats:
    """A score for each candidate, shape as in `evidence`; 0 means: not an answer."""
    w = weights or Weights()
    called = _called(reading, evidence, w)
    by = _by(evidence, called, w)
    about = _about(reading, evidence, w)
    best = np.maximum(np.maximum(called, by), about)
    if called.max(initial=0.0) < w.name_threshold and by.max(initial=0.0) < 0.5 and _is_foreign(reading, evidence, w):
        return np.zeros_like(best)
    return _floored(best, called, best + np.float32(w.name_prior) * evidence.prior, w)


def _called(reading: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """Likeness to a name, nothing below the threshold: two names share a fifth of their letters by chance.

    Where the whole query is a theme ("romance"), a name that only begins with it is no better an answer than others.
    """
    least = 0.94 if reading.theme_share > 0.9 else w.name_threshold
    return np.where(e.names >= least, e.names, np.float32(0.0)).astype(np.float32)


def _by(e: Evidence, called: Floats, w: Weights) -> Floats:
    """How surely it is by an author who was named. The less sure the name is, the more fame decides: many are called Oda,
    and readers who say no more mean the one they know. Where a title is called exactly so, they mean that.
    """
    by = np.float32(w.author) * e.people
    if called.max(initial=0.0) >= w.exact:
        return by
    fame = np.where(e.people > 0, (1 - e.people) * e.prior, np.float32(0.0))
    return (by + np.float32(w.unsure_prior) * fame).astype(np.float32)


def _about(reading: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """How well the story fits: words and meaning, the tags, and a little fame to order what fits alike.

    The more of the query the themes are, the more the tags decide: "samurai historical" asks for both tags and nothing else.
    """
    text = np.float32(w.words) * np.minimum(e.words, 1.0)
    if e.meaning is not None and e.headline is not None:
        sense = (np.maximum(e.meaning, 0) + np.float32(w.headline) * np.maximum(e.headline, 0)) / np.float32(
            1.0 + w.headline
        )
        text = text + np.float32(w.meaning) * sense
    text = np.float32(w.theme_scale) * (text + np.float32(w.tags) * e.tags)
    share = np.float32(reading.theme_share**2)
    tagged = np.float32(w.tagged) * e.tags**2 + np.float32(0.1) * text
    return ((1 - share) * text + share * tagged + np.float32(w.prior) * e.prior).astype(np.float32)


def _is_foreign(reading: ParsedQuery, e: Evidence, w: Weights) -> bool:
    """Whether the query is of another world than the catalogue: most of its weight in words no title has, and no passage
    means it.

    "Harry Potter and the Goblet of Fire" shares fire with many stories, and is none of them.
    """
    if e.known is None or reading.theme_share >= 0.3 or has_cjk(reading.core):
        return False
    sense = 0.0 if e.meaning is None else float(e.meaning.max(initial=0.0))
    return e.known < w.known and sense < w.sure_meaning


def _floored(best: Floats, called: Floats, scores: Floats, w: Weights) -> Floats:
    """Scores below the floor as 0. Where a title is called exactly so, names merely alike are no answers any more."""
    limit = max(w.floor, w.relative_floor * float(best.max(initial=0.0)))
    if called.max(initial=0.0) >= w.exact:
        limit = max(limit, w.floor_beside_exact)
    return np.where(best >= limit, scores, np.float32(0.0)).astype(np.float32)


def with_kin(
    scores: Floats, evidence: Evidence, kin_of_best: Callable[[], Floats], weights: Weights | None = None
) -> Floats:
    """Where a story was described, the rest of its series follows it: the same world, and seldom a synopsis of its own.

    `kin_of_best` is asked, only when it matters, for an array that is above 0 at the kin of the best candidate. A name or an
    author needs no help, and where many titles carry all the themes, the best one of them is nobody's leader.
    """
    w = weights or Weights()
    best = int(np.argmax(scores))
    themed = evidence.tags[best] == 1.0 and np.count_nonzero(evidence.tags == 1.0) > w.many
    if scores[best] < w.sure or evidence.names[best] >= w.name_threshold or evidence.people[best] > 0 or themed:
        return scores
    follow = np.float32(w.kin) * scores[best] + np.float32(0.01) * evidence.prior
    return np.maximum(scores, np.where(kin_of_best() > 0, np.minimum(follow, scores[best]), np.float32(0.0))).astype(
        np.float32
    )


def order(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Places of the best `limit` non-zero scores, best first; equal ones keep the candidates' order."""
    hits = np.flatnonzero(scores)
    best = hits[np.argsort(-scores[hits], kind="stable")]
    return best[:limit]
