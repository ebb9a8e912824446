"""The evidence for each title: one number a title and kind, so that fusion needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery, Tone
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import names_evidence
from tools.store.search.ranking.weights import Weights

KIND_OF = 0.75
"""The share of a tag's titles that carry another one too, from which on it is a kind of that: basketball of team sports."""
BROADER = np.float32(0.75)
"""The worth of a title that has the broader tag alone: most of these are about another kind."""


def theme_met(tags: Sequence[str], titles: Candidates) -> Floats | Mask:
    """1 for the titles with one of the theme's tags, less for those with none but a broader one than another of them."""
    if len(tags) == 1:
        return titles.tagged(tags)
    masks = [mask for tag in tags if (mask := titles.tagged([tag])).any()]
    found: Floats = np.zeros(len(titles.tagged(tags)), np.float32)
    for mask in masks:
        broad = any(_is_kind_of(other, mask) for other in masks)
        found = np.maximum(found, mask * (BROADER if broad else np.float32(1)))
    return found


def _is_kind_of(one: Mask, other: Mask) -> bool:
    few, many = int(np.count_nonzero(one)), int(np.count_nonzero(other))
    return few < many and int(np.count_nonzero(one & other)) >= KIND_OF * few


_ENOUGH = 2
"""Tags of a mood."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Arrays of one length, a row for each candidate, all from 0 to 1 where not said otherwise.

    `names`: likeness of the query to a name. `people`: how surely the query names an author of it. `words`: share of the
    query's idf mass that the title's text covers (BM25 / the best possible). `tags`: share of the themes in the query that
    the title is tagged with. `meaning`: cosine of the best passage, -1 to 1; None when the vector leg did not run.
    `headline`: cosine of the title's headline; None likewise. `prior`: how well known a title is. `in_vocabulary`: share of
    the query's idf mass in words that any title has; None if the engine can't say.
    """

    names: Floats
    people: Floats
    words: Floats
    tags: Floats
    meaning: Floats | None
    headline: Floats | None
    prior: Floats
    in_vocabulary: float | None = None


def evidence_of(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Evidence:
    """All that speaks for the candidates."""
    meaning, headline = candidates.senses or (None, None)
    return Evidence(
        names=names_evidence(query, candidates, weights),
        people=_people(query, candidates),
        words=_words(query, candidates, weights),
        tags=_tags(query, candidates),
        meaning=meaning,
        headline=headline,
        prior=candidates.prior,
        in_vocabulary=candidates.words.in_vocabulary(query.terms),
    )


def _people(query: ParsedQuery, candidates: Candidates) -> Floats:
    """Surely by the author of the title that the query points from, where it asks for them."""
    named, theirs = candidates.people.named(query), candidates.by_same_author
    return named if theirs is None else np.where(theirs, np.float32(1.0), named)


def _words(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Floats:
    own = candidates.words.covered([(term,) for term in query.terms])
    if not query.translated:
        return own
    translated = np.float32(weights.translated) * candidates.words.covered(query.translated)
    return np.asarray(np.maximum(own, translated), np.float32)


def _tags(query: ParsedQuery, candidates: Candidates) -> Floats:
    """The share of the query's themes that a title is tagged with; a mood, and a readership
    that is named, count as one of them each."""
    themes: list[Floats | Mask] = [theme_met(tags, candidates) for tags in query.themes]
    themes += [_suits(tone, candidates) for tone in query.moods]
    if query.genre is not None:
        themes.append(candidates.columns.any_of("genre", (query.genre,)))
    met = np.zeros(len(candidates.prior), np.float32)
    for theme in themes:
        met += theme
    return met / np.float32(len(themes)) if themes else met


def _suits(tone: Tone, candidates: Candidates) -> Floats:
    """How well a mood is met: wholly by two of its tags, since each of them alone is on many a title of another tone. By any
    title where it names none; never by one of the wrong tone."""
    carried = np.zeros(len(candidates.prior), np.float32)
    for tag in tone.wanted:
        carried += candidates.tagged([tag])
    met = np.minimum(carried / np.float32(_ENOUGH), 1) if len(tone.wanted) > 1 else carried if tone.wanted else carried + 1
    return np.where(candidates.tagged(tone.unwanted), np.float32(0), met).astype(np.float32)


def leader_of(scores: Floats, evidence: Evidence, weights: Weights) -> int | None:
    """The row of the title whose series follows it, if one leads.

    A name or an author needs no help, and where many titles have all the themes, the best of them is nobody's leader.
    """
    if not len(scores):
        return None
    best = int(np.argmax(scores))
    named = evidence.names[best] >= weights.name_threshold or evidence.people[best] > 0
    if scores[best] < weights.described or named:
        return None
    themed = evidence.tags[best] == 1.0 and np.count_nonzero(evidence.tags == 1.0) > weights.many
    return None if themed else best


def with_series(scores: Floats, prior: Floats, leader: int, series: Floats, weights: Weights) -> Floats:
    """The scores with those of the leader's `series` (above 0 where a title is of it) raised to just below the leader's."""
    following = np.float32(weights.series_of_described) * scores[leader] + np.float32(weights.series_prior) * prior
    behind = np.minimum(following, scores[leader])
    return np.maximum(scores, np.where(series > 0, behind, np.float32(0.0))).astype(np.float32)
