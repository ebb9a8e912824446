"""The evidence to one score a title, by what the query looks like.

Reciprocal rank fusion (Cormack et al. 2009) trusts every leg alike and is worse than BM25 alone on titles and authors: an
embedder ranks *something* first for any name. Here each intent has a score on one scale of 0 to 1 and the strongest
explains the title: it is called this, it is by them, or it is about that. What is below the floor is no answer.
"""

from __future__ import annotations

import numpy as np

from tools.store.search.arrays import Floats, Mask, Rows
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
    if not _is_named(called, by, weights) and _is_foreign(query, evidence, weights):
        return np.zeros_like(best)
    return _floored(best, called, best + np.float32(weights.name_prior) * evidence.prior, weights)


def fuse_among(query: ParsedQuery, evidence: Evidence, allowed: Mask, weights: Weights) -> Floats:
    """The scores of those that are `allowed`, by the floor that the best of these sets: what is nearest to a described story
    where a condition leaves out most of what `fuse` finds. Nothing for a name: what is called so is what was asked for."""
    called = _called(query, evidence, weights)
    surely = called.max(initial=0.0) >= weights.surely_called and query.theme_share <= weights.theme_only
    if surely or _by(evidence, called, weights).max(initial=0.0) >= weights.by_author:
        return np.zeros_like(called)
    about = np.where(allowed, _about(query, evidence, weights), _NOTHING)
    return np.where(about >= weights.nearest_floor, about, _NOTHING).astype(np.float32)


def to_order(query: ParsedQuery, scores: Floats, evidence: Evidence, weights: Weights) -> Floats:
    """The scores of what may be put in another order than theirs: best first, a loose answer stands behind the good ones,
    and would come first where it is cheap or new. Fame does not make an answer a better one."""
    fit = np.maximum(np.float32(weights.author) * evidence.people, _fit(query, evidence, weights))
    fit = np.where(scores > 0, fit, _NOTHING)
    return np.where(fit >= weights.ordered_floor * fit.max(initial=0.0), scores, _NOTHING).astype(np.float32)


def _is_named(called: Floats, by: Floats, w: Weights) -> bool:
    """True if a title or an author is named."""
    return bool(called.max(initial=0.0) >= w.name_threshold or by.max(initial=0.0) >= w.by_author)


def _called(query: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """Likeness to a name, nothing below the threshold.

    Where the whole query is a theme ("romance"), a name that only begins with it is no better an answer than others.
    """
    return np.where(e.names >= least_name(query, w), e.names, _NOTHING).astype(np.float32)


def least_name(query: ParsedQuery, weights: Weights) -> float:
    """How like a name the query has to be for a title to be called so."""
    return weights.theme_name_threshold if query.theme_share > weights.theme_only else weights.name_threshold


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
    Where no title has them all ("ninja farm"), they decide so much the less, and the words and the meaning more.
    """
    return (_fit(query, e, w) + np.float32(w.prior) * e.prior).astype(np.float32)


def _fit(query: ParsedQuery, e: Evidence, w: Weights) -> Floats:
    """As `_about`, without fame."""
    text = np.float32(w.theme_scale) * (_told(e, w) + np.float32(w.tags) * e.tags)
    share = np.float32((query.theme_share * float(e.tags.max(initial=0.0))) ** 2)
    tagged = np.float32(w.tagged) * e.tags**2 + np.float32(w.text_of_tagged) * text
    return np.asarray((1 - share) * text + share * tagged, np.float32)


def _told(e: Evidence, w: Weights) -> Floats:
    """How much of the query a title's text says, in its words and, where vectors are there, in its meaning."""
    said = np.float32(w.words) * np.minimum(e.words, 1.0)
    if e.meaning is None or e.headline is None:
        return said
    return said + np.float32(w.meaning) * meant(e.meaning, e.headline, w)


def meant(meaning: Floats, headline: Floats, w: Weights) -> Floats:
    """How much a title means the query, by its best passage and its headline together."""
    both = np.maximum(meaning, 0) + np.float32(w.headline) * np.maximum(headline, 0)
    return np.asarray(both / np.float32(1.0 + w.headline), np.float32)


def _is_foreign(query: ParsedQuery, e: Evidence, w: Weights) -> bool:
    """True if the query is of another world than the catalogue: most of its weight in words no title has, and no passage
    means it.

    "Harry Potter and the Goblet of Fire" shares fire with many stories, and is none of them. What is read by a dictionary
    always has words that some title has; there the meaning alone tells.
    """
    if query.theme_share >= w.themed:
        return False
    if has_cjk(query.subject):
        return len(query.translated) > 1 and not _means_any(e, w)
    if e.in_vocabulary is None:
        return False
    meant = 0.0 if e.meaning is None else float(e.meaning.max(initial=0.0))
    return e.in_vocabulary < w.in_vocabulary and meant < w.sure_meaning


def _means_any(e: Evidence, w: Weights) -> bool:
    """True if any title means the query a little, or if nothing is known of meaning."""
    if e.meaning is None or e.headline is None:
        return True
    return bool(meant(e.meaning, e.headline, w).max(initial=0.0) >= w.meant_at_all)


def _floored(best: Floats, called: Floats, scores: Floats, w: Weights) -> Floats:
    """Scores below the floor as 0. Where a title is called exactly so, names merely alike are no answers any more."""
    limit = max(w.floor, w.relative_floor * float(best.max(initial=0.0)))
    if called.max(initial=0.0) >= w.exact:
        limit = max(limit, w.floor_beside_exact)
    return np.where(best >= limit, scores, _NOTHING).astype(np.float32)


def followed(scores: Floats, nearest: Floats, few: int) -> Floats:
    """The scores, and where fewer than `few` are answers the best of `nearest` after them, up to so many."""
    more = the_best(np.where(scores > 0, _NOTHING, nearest).astype(np.float32), max(0, few - int(np.count_nonzero(scores))))
    least = scores[scores > 0].min(initial=np.float32(1.0))
    return np.asarray(scores + more * (least * np.float32(0.99) / max(np.float32(1.0), more.max(initial=0.0))), np.float32)


def the_best(scores: Floats, most: int) -> Floats:
    """The scores, all but the best `most` as 0."""
    kept, rows = np.zeros_like(scores), order(scores, most)
    kept[rows] = scores[rows]
    return kept


def order(scores: Floats, limit: int) -> Rows:
    """Rows of the best `limit` non-zero scores, best first; equal ones keep the candidates' order."""
    hits = np.flatnonzero(scores)
    best = hits[np.argsort(-scores[hits], kind="stable")]
    return best[:limit]
