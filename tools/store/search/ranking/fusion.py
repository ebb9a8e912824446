"""The evidence to one score a title, by what the query looks like.

Reciprocal rank fusion (Cormack et al. 2009) trusts every leg alike and is worse than BM25 alone on titles and authors: an
embedder ranks *something* first for any name. Here each intent has a score on one scale of 0 to 1 and the strongest
explains the title: it is called this, it is by them, or it is about that. What is below the floor is no answer.
"""

from __future__ import annotations

import numpy as np

from tools.store.search.arrays import Floats, Rows
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.evidence import Evidence
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.characters import has_cjk

_NOTHING = np.float32(0.0)


def fuse(query: ParsedQuery, evidence: Evidence, weights: Weights) -> Floats:
    """A score for each candidate, shape as in `evidence`; 0 means: not an answer."""
    called = _called(query, evidence, weights)
    by = _by(evidence, called, weights)
    best = np.maximum(np.maximum(called, by), _about(query, evidence, weights))
    named = called.max(initial=0.0) >= weights.name_threshold or by.max(initial=0.0) >= weights.by_author
    if not named and _is_foreign(query, evidence, weights):
        return np.zeros_like(best)
    return _floored(best, called, best + np.float32(weights.name_prior) * evidence.prior, weights)


def _called(query: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """Likeness to a name, nothing below the threshold.

    Where the whole query is a theme ("romance"), a name that only begins with it is no better an answer than others.
    """
    least = w.theme_name_threshold if query.theme_share > w.theme_only else w.name_threshold
    return np.where(e.names >= least, e.names, _NOTHING).astype(np.float32)


def _by(e: Evidence, called: Floats, w: Weights) -> Floats:
    """How surely it is by an author who was named. The less sure the name is, the more fame decides: many are called Oda,
    and readers who say no more mean the one they know. Where a title is called exactly so, they mean that.
    """
    by = np.float32(w.author) * e.people
    if called.max(initial=0.0) >= w.exact:
        return by
    fame = np.where(e.people > 0, (1 - e.people) * e.prior, _NOTHING)
    return (by + np.float32(w.unsure_prior) * fame).astype(np.float32)


def _about(query: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """How well the story fits: words and meaning, the tags, and a little fame to order what fits alike.

    The more of the query the themes are, the more the tags decide: "samurai historical" asks for both tags and nothing else.
    """
    text = np.float32(w.theme_scale) * (_told(e, w) + np.float32(w.tags) * e.tags)
    share = np.float32(query.theme_share**2)
    tagged = np.float32(w.tagged) * e.tags**2 + np.float32(w.text_of_tagged) * text
    return ((1 - share) * text + share * tagged + np.float32(w.prior) * e.prior).astype(np.float32)


def _told(e: Evidence, w: Weights) -> Floats:
    """How much of the query a title's text says, in its words and, where vectors are there, in its meaning."""
    said = np.float32(w.words) * np.minimum(e.words, 1.0)
    if e.meaning is None or e.headline is None:
        return said
    both = np.maximum(e.meaning, 0) + np.float32(w.headline) * np.maximum(e.headline, 0)
    return said + np.float32(w.meaning) * (both / np.float32(1.0 + w.headline))


def _is_foreign(query: ParsedQuery, e: Evidence, w: Weights) -> bool:
    """Whether the query is of another world than the catalogue: most of its weight in words no title has, and no passage
    means it.

    "Harry Potter and the Goblet of Fire" shares fire with many stories, and is none of them.
    """
    if e.in_vocabulary is None or query.theme_share >= w.themed or has_cjk(query.subject):
        return False
    meant = 0.0 if e.meaning is None else float(e.meaning.max(initial=0.0))
    return e.in_vocabulary < w.in_vocabulary and meant < w.sure_meaning


def _floored(best: Floats, called: Floats, scores: Floats, w: Weights) -> Floats:
    """Scores below the floor as 0. Where a title is called exactly so, names merely alike are no answers any more."""
    limit = max(w.floor, w.relative_floor * float(best.max(initial=0.0)))
    if called.max(initial=0.0) >= w.exact:
        limit = max(limit, w.floor_beside_exact)
    return np.where(best >= limit, scores, _NOTHING).astype(np.float32)


def order(scores: Floats, limit: int) -> Rows:
    """Rows of the best `limit` non-zero scores, best first; equal ones keep the candidates' order."""
    hits = np.flatnonzero(scores)
    best = hits[np.argsort(-scores[hits], kind="stable")]
    return best[:limit]
