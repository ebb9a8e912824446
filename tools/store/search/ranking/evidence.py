"""What speaks for each title, as one number a title and a kind of evidence, so that fusion needs to know no engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.tones import Tone
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import names_evidence
from tools.store.search.ranking.themes import theme_met
from tools.store.search.ranking.weights import Weights

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
        in_vocabulary=candidates.in_vocabulary(query.terms),
    )


def _people(query: ParsedQuery, candidates: Candidates) -> Floats:
    """Surely by the author of the title that the query points from, where it asks for them."""
    named, theirs = candidates.people(query), candidates.by_same_author
    return named if theirs is None else np.where(theirs, np.float32(1.0), named)


def _words(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Floats:
    own = candidates.words([(term,) for term in query.terms])
    if not query.translated:
        return own
    translated = np.float32(weights.translated) * candidates.words(query.translated)
    return np.asarray(np.maximum(own, translated), np.float32)


def _tags(query: ParsedQuery, candidates: Candidates) -> Floats:
    """The share of the query's themes that a title is tagged with; a mood, and a readership
    that is named, count as one of them each."""
    themes: list[Floats | Mask] = [theme_met(tags, candidates) for tags in query.themes]
    themes += [_suits(tone, candidates) for tone in query.moods]
    if query.genre is not None:
        themes.append(candidates.of_genre(query.genre))
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
