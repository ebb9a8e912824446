"""Ranks candidates for a parsed query, by the same rules for every backend.

The query may be a title's name, its author, or a description of its story. Each of the three gets a score from the evidence,
and the highest, plus a little for fame, is the title's score. A title below the floor is no answer. Reciprocal rank fusion
(Cormack et al. 2009) does worse, since an embedding model puts some title first for any name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.store.identifiers import CHILDREN
from tools.store.models import Ordering
from tools.store.search.columns import Columns, Floats, Mask, Rows
from tools.store.search.query.parsed import ParsedQuery, Tone
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import names_evidence, series_of
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.text.characters import has_cjk

BROADER_TAG_SCORE = np.float32(0.75)
"""Score of a title that has only the broader tag of a theme, since most such titles are about another kind."""


def theme_met(tags: Sequence[str], titles: Candidates) -> Floats | Mask:
    """Returns 1 for titles with a tag of the theme, `BROADER_TAG_SCORE` with only its broader tags, 0 for others."""
    if len(tags) == 1:
        return titles.mask_tagged(tags)
    masks = [mask for tag in tags if (mask := titles.mask_tagged([tag])).any()]
    found: Floats = np.zeros(len(titles.mask_tagged(tags)), np.float32)
    for mask in masks:
        broad = any(_is_kind_of(other, mask) for other in masks)
        found = np.maximum(found, mask * (BROADER_TAG_SCORE if broad else np.float32(1)))
    return found


def _is_kind_of(one: Mask, other: Mask) -> bool:
    """Returns True if at least three quarters of a tag's titles have the other, more frequent tag, as Basketball does of
    Team Sports."""
    few, many = int(np.count_nonzero(one)), int(np.count_nonzero(other))
    return few < many and int(np.count_nonzero(one & other)) >= 0.75 * few


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for each candidate: arrays with one row per candidate, from 0 to 1 unless stated otherwise.

    `names`: similarity of the query to a name of the title. `people`: confidence that the query names an author of it.
    `words`: BM25 score of the title's text divided by the query's IDF mass, may exceed 1. `tags`: share of the query's
    themes that the title has as tags. `meaning`, `headline`: cosines (-1 to 1) of the query with the title's best passage
    and headline; None without vectors. `prior`: the title's fame. `in_vocabulary`: share of the query's IDF mass in words
    that any title has."""

    names: Floats
    people: Floats
    words: Floats
    tags: Floats
    meaning: Floats | None
    headline: Floats | None
    prior: Floats
    in_vocabulary: float = 1.0


def evidence_of(query: ParsedQuery, candidates: Candidates) -> Evidence:
    meaning, headline = candidates.senses or (None, None)
    authors, theirs = candidates.people.measure_authorship(query), candidates.by_same_author
    return Evidence(
        names=names_evidence(query, candidates),
        people=authors if theirs is None else np.where(theirs, np.float32(1.0), authors),
        words=_words(query, candidates),
        tags=_tags(query, candidates),
        meaning=meaning,
        headline=headline,
        prior=candidates.prior,
        in_vocabulary=candidates.words.in_vocabulary(query.terms),
    )


def _words(query: ParsedQuery, candidates: Candidates) -> Floats:
    own = candidates.words.measure_coverage([(term,) for term in query.terms])
    if not query.translated:
        return own
    translated = np.float32(WEIGHTS.translated) * candidates.words.measure_coverage(query.translated)
    return np.asarray(np.maximum(own, translated), np.float32)


def _tags(query: ParsedQuery, candidates: Candidates) -> Floats:
    """Returns the share of the query's themes that each title has. Each mood, and the genre, counts as one theme."""
    themes: list[Floats | Mask] = [theme_met(tags, candidates) for tags in query.themes]
    themes += [_mood_fit(tone, candidates) for tone in query.moods]
    if query.genre is not None:
        themes.append(candidates.columns.any_of("genre", (query.genre,)))
    met = np.zeros(len(candidates.prior), np.float32)
    for theme in themes:
        met += theme
    return met / np.float32(len(themes)) if themes else met


def _mood_fit(tone: Tone, candidates: Candidates) -> Floats:
    """Returns each title's fit to a mood, 0 to 1. A full score needs two wanted tags if the mood has several, since each
    alone is on many titles of another mood. Without wanted tags, every title fits; an unwanted tag gives 0."""
    carried = np.zeros(len(candidates.prior), np.float32)
    for tag in tone.wanted:
        carried += candidates.mask_tagged([tag])
    met = np.minimum(carried / np.float32(2), 1) if len(tone.wanted) > 1 else carried if tone.wanted else carried + 1
    return np.where(candidates.mask_tagged(tone.unwanted), np.float32(0), met).astype(np.float32)


def leader_of(scores: Floats, evidence: Evidence) -> int | None:
    """Returns the row of the best title if its series should follow it among the answers. None if its score is low, if the
    query names it or its author, or if it and many others have all themes of the query."""
    if not len(scores):
        return None
    best = int(np.argmax(scores))
    named = evidence.names[best] >= WEIGHTS.name_threshold or evidence.people[best] > 0
    if scores[best] < WEIGHTS.described or named:
        return None
    themed = evidence.tags[best] == 1.0 and np.count_nonzero(evidence.tags == 1.0) > WEIGHTS.many
    return None if themed else best


def with_series(scores: Floats, prior: Floats, leader: int, series: Floats) -> Floats:
    """Raises the scores of titles in the leader's series (`series` above 0) to the leader's score at most."""
    following = np.float32(WEIGHTS.series_of_described) * scores[leader] + np.float32(WEIGHTS.series_prior) * prior
    behind = np.minimum(following, scores[leader])
    return np.maximum(scores, np.where(series > 0, behind, np.float32(0.0))).astype(np.float32)


_NOTHING = np.float32(0.0)


def fuse(query: ParsedQuery, evidence: Evidence) -> Floats:
    """Combines the evidence into one score per candidate; 0 means no answer."""
    called = _score_names(query, evidence)
    by = _score_authors(evidence, called)
    best = np.maximum(np.maximum(called, by), _score_story(query, evidence))
    named = called.max(initial=0.0) >= WEIGHTS.name_threshold or by.max(initial=0.0) >= WEIGHTS.by_author
    if not named and _is_out_of_catalogue(query, evidence):
        return np.zeros_like(best)
    return _apply_floor(best, called, best + np.float32(WEIGHTS.name_prior) * evidence.prior)


def fuse_among(query: ParsedQuery, evidence: Evidence, allowed: Mask) -> Floats:
    """Scores the `allowed` titles by their stories only, with a lower floor, for a condition that excludes most answers of
    `fuse`. Returns 0 for all if the query surely names a title or an author."""
    called = _score_names(query, evidence)
    surely = called.max(initial=0.0) >= WEIGHTS.surely_called and query.theme_share <= WEIGHTS.theme_only
    if surely or _score_authors(evidence, called).max(initial=0.0) >= WEIGHTS.by_author:
        return np.zeros_like(called)
    about = np.where(allowed, _score_story(query, evidence), _NOTHING)
    return np.where(about >= WEIGHTS.nearest_floor, about, _NOTHING).astype(np.float32)


def keep_good_fits(query: ParsedQuery, scores: Floats, evidence: Evidence) -> Floats:
    """Sets the scores of titles that fit much worse than the best to 0; fame does not count. Otherwise a poor answer could
    come first when answers are sorted by price or year."""
    fit = np.maximum(np.float32(WEIGHTS.author) * evidence.people, _fit(query, evidence))
    fit = np.where(scores > 0, fit, _NOTHING)
    return np.where(fit >= WEIGHTS.ordered_floor * fit.max(initial=0.0), scores, _NOTHING).astype(np.float32)


def _score_names(query: ParsedQuery, e: Evidence) -> Floats:
    return np.where(e.names >= least_name(query), e.names, _NOTHING).astype(np.float32)


def least_name(query: ParsedQuery) -> float:
    """Returns the least similarity at which a name counts. It is higher for a query that is mostly a theme ("romance"): a
    title whose name only begins with the word is no better an answer than others."""
    return WEIGHTS.theme_name_threshold if query.theme_share > WEIGHTS.theme_only else WEIGHTS.name_threshold


def _score_authors(e: Evidence, called: Floats) -> Floats:
    """Scores titles by a named author. The less certain the name, the more fame counts: of the many authors called Oda,
    readers mean the best known. If a title has exactly the query's name, fame does not count."""
    by = np.float32(WEIGHTS.author) * e.people
    if called.max(initial=0.0) >= WEIGHTS.exact:
        return by
    fame = np.where(e.people > 0, (1 - e.people) * e.prior, _NOTHING)
    return (by + np.float32(WEIGHTS.unsure_prior) * fame).astype(np.float32)


def _score_story(query: ParsedQuery, e: Evidence) -> Floats:
    return (_fit(query, e) + np.float32(WEIGHTS.prior) * e.prior).astype(np.float32)


def _fit(query: ParsedQuery, e: Evidence) -> Floats:
    """Scores the fit of each title's story to the query by words, meaning and tags, without fame. The larger the share of
    themes in the query, the more the tags decide. If no title has all the themes, words and meaning decide more."""
    text = np.float32(WEIGHTS.theme_scale) * (_score_text(e) + np.float32(WEIGHTS.tags) * e.tags)
    share = np.float32((query.theme_share * float(e.tags.max(initial=0.0))) ** 2)
    tagged = np.float32(WEIGHTS.tagged) * e.tags**2 + np.float32(WEIGHTS.text_of_tagged) * text
    return np.asarray((1 - share) * text + share * tagged, np.float32)


def _score_text(e: Evidence) -> Floats:
    said = np.float32(WEIGHTS.words) * np.minimum(e.words, 1.0)
    if e.meaning is None or e.headline is None:
        return said
    return said + np.float32(WEIGHTS.meaning) * score_meaning(e.meaning, e.headline)


def score_meaning(meaning: Floats, headline: Floats) -> Floats:
    """Scores each title's closeness to the query in meaning: the weighted mean of both cosines, negative ones as 0."""
    both = np.maximum(meaning, 0) + np.float32(WEIGHTS.headline) * np.maximum(headline, 0)
    return np.asarray(both / np.float32(1.0 + WEIGHTS.headline), np.float32)


def _is_out_of_catalogue(query: ParsedQuery, e: Evidence) -> bool:
    """Returns True if too much of the query's IDF mass is in words that no title has, and no passage is close in meaning.
    For a Japanese query only the meaning decides: False without vectors or with fewer than two translated words. False for
    any query with a large share of themes (`WEIGHTS.themed`)."""
    if query.theme_share >= WEIGHTS.themed:
        return False
    if has_cjk(query.subject):
        if len(query.translated) <= 1 or e.meaning is None or e.headline is None:
            return False
        return bool(score_meaning(e.meaning, e.headline).max(initial=0.0) < WEIGHTS.meant_at_all)
    meant = 0.0 if e.meaning is None else float(e.meaning.max(initial=0.0))
    return e.in_vocabulary < WEIGHTS.in_vocabulary and meant < WEIGHTS.sure_meaning


def _apply_floor(best: Floats, called: Floats, scores: Floats) -> Floats:
    """Sets `scores` to 0 where `best`, the scores before `fuse` adds fame, is below the floor. The floor is higher if a
    title has exactly the query's name (`called`)."""
    limit = max(WEIGHTS.floor, WEIGHTS.relative_floor * float(best.max(initial=0.0)))
    if called.max(initial=0.0) >= WEIGHTS.exact:
        limit = max(limit, WEIGHTS.floor_beside_exact)
    return np.where(best >= limit, scores, _NOTHING).astype(np.float32)


def append_nearest(scores: Floats, nearest: Floats, few: int) -> Floats:
    """Adds the best titles of `nearest` until there are `few` answers, with scores below all others."""
    more = the_best(np.where(scores > 0, _NOTHING, nearest).astype(np.float32), max(0, few - int(np.count_nonzero(scores))))
    least = scores[scores > 0].min(initial=np.float32(1.0))
    return np.asarray(scores + more * (least * np.float32(0.99) / max(np.float32(1.0), more.max(initial=0.0))), np.float32)


def the_best(scores: Floats, most: int) -> Floats:
    """Returns a copy of the scores with all but the `most` highest set to 0."""
    kept, rows = np.zeros_like(scores), order(scores, most)
    kept[rows] = scores[rows]
    return kept


def order(scores: Floats, limit: int) -> Rows:
    """Returns the rows of the `limit` highest non-zero scores, best first; ties keep the order of rows."""
    hits = np.flatnonzero(scores)
    best = hits[np.argsort(-scores[hits], kind="stable")]
    return best[:limit]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates ranked for one query. `scores`: one per candidate, 0 for no answer. `evidence`: the basis of the
    scores; None if titles are ranked by similarity to another title. `ordering`: how to sort the answers; None sorts by
    score. `leader`: the row of the title whose series is listed after it. `guessed`: True if the best answer was found only
    by a name somewhat like the query. `near`: if nothing matches, the rows of the most similar names, best first. `nearest`:
    True if conditions left too few answers, so that the nearest allowed titles were added, if any."""

    scores: Floats
    evidence: Evidence | None = None
    ordering: Ordering | None = None
    leader: int | None = None
    guessed: bool = False
    near: Sequence[int] = ()
    nearest: bool = False

    @property
    def answers(self) -> int:
        return int(np.count_nonzero(self.scores))

    def best(self, limit: int) -> Sequence[int]:
        return [int(row) for row in order(self.scores, limit)]


def rank(query: ParsedQuery, candidates: Candidates, allowed: Mask, *, for_children: bool = False) -> Ranked:
    """Ranks the candidates by how well they answer the query. Titles that are not `allowed` are excluded after they have
    helped to set the floor, so that a condition only narrows the result. If too few answers to a described story remain, the
    nearest allowed titles follow: at most `WEIGHTS.few` answers in all, and no more than without conditions. For children,
    titles made for them come first, unless the query names a title or an author."""
    evidence = evidence_of(query, candidates)
    scores = fuse(query, evidence)
    leader = leader_of(scores, evidence)
    if leader is not None:
        scores = with_series(scores, evidence.prior, leader, series_of(leader, candidates))
    few = min(WEIGHTS.few, int(np.count_nonzero(scores)))
    scores = np.where(allowed, scores, _NOTHING)
    found = scores > 0
    nearest = int(np.count_nonzero(scores)) < few
    if nearest:
        scores = append_nearest(scores, fuse_among(query, evidence, allowed), few)
    if not scores.any():
        return Ranked(scores, evidence, near=near_names(evidence, allowed))
    ordering, guessed = ordering_of(query, scores, evidence), is_guess(scores, evidence)
    if ordering is not None:
        scores = keep_good_fits(query, scores, evidence)
    best = int(np.argmax(scores))
    if for_children and evidence.names[best] < least_name(query) and not evidence.people[best]:
        scores = put_children_first(scores, candidates.columns, found)
    return Ranked(scores, evidence, ordering, leader, guessed, nearest=nearest)


def put_children_first(scores: Floats, columns: Columns, among: Mask) -> Floats:
    """Raises the scores of titles made for children in the mask `among` above all others."""
    made_for_them = columns.any_of("genre", (CHILDREN,)) & among & (scores > 0)
    return np.where(made_for_them, scores + scores.max(initial=0.0), scores).astype(np.float32)


def is_guess(scores: Floats, evidence: Evidence) -> bool:
    best = int(np.argmax(scores))
    likeness = evidence.names[best]
    if not WEIGHTS.name_threshold <= likeness < WEIGHTS.sure_name:
        return False
    # Fusion adds fame to the highest of the name, author and story scores. Here none exceeded the name's score.
    return bool(scores[best] <= likeness + np.float32(WEIGHTS.name_prior) * evidence.prior[best] + np.float32(1e-4))


def near_names(evidence: Evidence, allowed: Mask) -> Sequence[int]:
    near = np.where(allowed & (evidence.names >= WEIGHTS.near_name), evidence.names, _NOTHING)
    return [int(row) for row in order(near, WEIGHTS.most_near)]


def ordering_of(query: ParsedQuery, scores: Floats, evidence: Evidence) -> Ordering | None:
    """Returns the ordering that the query asks for; None if the best answer matches by name, since "latest One Piece" asks
    for the newest volume of one title."""
    named = evidence.names[int(np.argmax(scores))] >= least_name(query)
    return None if named else query.ordering
