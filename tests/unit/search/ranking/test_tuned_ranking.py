"""The tuned numbers of the ranking: a changed one fails here."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from tools.store.models import Ordering
from tools.store.search.columns import Floats
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking import ranked
from tools.store.search.ranking.ranked import Evidence, fuse, is_guess, leader_of, near_names, ordering_of, with_series
from tools.store.search.ranking.weights import WEIGHTS

PARSER = QueryParser()
NOTHING = replace(PARSER.parse("zxqv flurble"), theme_share=0.0)


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def evidence(**legs: float | None) -> Evidence:
    """Of one title."""
    names = ("names", "people", "words", "tags", "prior")
    own = {name: floats(legs.get(name) or 0.0) for name in names}
    seen = {name: None if legs.get(name) is None else floats(legs[name] or 0.0) for name in ("meaning", "headline")}
    return Evidence(**own, **seen, in_vocabulary=legs.get("in_vocabulary", 1.0))


def score(theme_share: float = 0.0, **legs: float | None) -> float:
    (found,) = fuse(replace(NOTHING, theme_share=theme_share), evidence(**legs))
    return round(float(found), 3)


@pytest.mark.parametrize(
    ("legs", "expected"),
    [
        ({"names": 0.66}, 0.66),
        ({"names": 0.65}, 0.0),  # by chance
        ({"names": 0.8, "prior": 0.5}, 0.83),
        ({"names": 1.0, "prior": 1.0}, 1.06),
        ({"people": 1.0}, 0.92),
        ({"people": 0.5, "prior": 0.5}, 0.678),  # the less sure, the more fame counts
        ({"people": 0.5, "prior": 0.5, "names": 0.97}, 1.0),
        ({"words": 1.0}, 0.48),
        ({"words": 2.0}, 0.48),
        ({"words": 0.5}, 0.0),  # below the floor
        ({"words": 0.5, "prior": 1.0}, 0.46),
        ({"words": 0.5, "meaning": 0.5, "headline": 0.25}, 0.457),
        ({"words": 0.5, "meaning": 0.5}, 0.0),
        ({"words": 1.0, "meaning": -0.5, "headline": -0.5}, 0.48),
        ({"words": 1.0, "tags": 0.5}, 0.544),
    ],
)
def test_combined_evidence_has_the_tuned_score(legs: dict[str, float], expected: float) -> None:
    assert score(**legs) == expected


@pytest.mark.parametrize(
    ("share", "tags", "expected"), [(0.5, 1.0, 0.659), (1.0, 1.0, 0.811), (1.0, 0.5, 0.468), (0.5, 0.0, 0.48)]
)
def test_tags_count_more_with_the_share_of_themes(share: float, tags: float, expected: float) -> None:
    assert score(share, words=1.0, tags=tags) == expected


@pytest.mark.parametrize(
    ("legs", "answered"),
    [
        ({"in_vocabulary": 0.54}, False),
        ({"in_vocabulary": 0.55}, True),
        ({"in_vocabulary": 0.54, "meaning": 0.4, "headline": 0.0}, True),
        ({"in_vocabulary": 0.54, "meaning": 0.39, "headline": 0.0}, False),
        ({"in_vocabulary": 0.0, "names": 0.66}, True),
        ({"in_vocabulary": 0.0, "people": 0.55}, True),
        ({"in_vocabulary": 0.0, "people": 0.5}, False),
    ],
)
def test_query_of_words_unknown_to_the_catalogue_has_no_answer(legs: dict[str, float], answered: bool) -> None:
    assert (score(words=1.0, **legs) > 0) is answered


def test_names_merely_alike_are_dropped_beside_an_exact_name() -> None:
    both = {name: floats(0, 0) for name in ("people", "words", "tags", "prior")}
    for exact, alike, left in ((0.97, 0.69, 1), (0.97, 0.7, 2), (0.96, 0.69, 2)):
        found = fuse(NOTHING, Evidence(names=floats(exact, alike), meaning=None, headline=None, **both))
        assert np.count_nonzero(found) == left


def test_titles_below_three_fifths_of_the_best_score_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "WEIGHTS", replace(WEIGHTS, words=0.9))
    both = {name: floats(0, 0) for name in ("people", "names", "tags", "prior")}
    for second, left in ((0.59, 1), (0.61, 2)):
        found = fuse(NOTHING, Evidence(words=floats(1.0, second), meaning=None, headline=None, **both))
        assert np.count_nonzero(found) == left


def with_its_series(scores: Floats, **legs: Floats) -> list[float]:
    empty = {name: np.zeros(len(scores), np.float32) for name in ("names", "people", "words", "tags", "prior")}
    found = Evidence(**{**empty, **legs}, meaning=None, headline=None)
    if (leader := leader_of(scores, found)) is not None:
        scores = with_series(scores, found.prior, leader, floats(*[1.0] * len(scores)))
    return [round(float(each), 3) for each in scores]


def test_series_follows_a_sure_title_at_nine_tenths_and_never_overtakes_it() -> None:
    assert with_its_series(floats(0.5, 0.0, 0.47), prior=floats(0, 1, 0)) == [0.5, 0.46, 0.47]
    assert with_its_series(floats(0.4, 0.0)) == [0.4, 0.36]
    assert with_its_series(floats(0.39, 0.0)) == [0.39, 0.0], "not sure enough"
    assert with_its_series(floats(0.5, 0.0), names=floats(0.66, 0)) == [0.5, 0.0], "a name needs no help"
    assert with_its_series(floats(0.5, 0.0), people=floats(0.01, 0)) == [0.5, 0.0], "nor does an author"


@pytest.mark.parametrize(("many", "followed"), [(2, True), (50, True), (51, False)])
def test_no_series_follows_when_more_than_fifty_titles_carry_all_themes(many: int, followed: bool) -> None:
    scores = floats(0.5, *[0.45] * (many - 1), 0.0)
    assert (with_its_series(scores, tags=floats(*[1.0] * many, 0.0))[-1] > 0) is followed


def test_weights_are_the_tuned_ones() -> None:
    """A snapshot: a change has to be judged anew (`make quality`)."""
    assert asdict(WEIGHTS) == {
        "name_threshold": 0.66, "theme_name_threshold": 0.94, "theme_only": 0.9, "exact": 0.97, "name_prior": 0.06,
        "alias": 0.98, "beside_author": 0.97, "sure_name": 0.8, "read": 0.96,
        "read_whole": 0.95, "read_like": 0.97, "near_name": 0.5, "most_near": 3, "author": 0.92,
        "unsure_prior": 0.75, "by_author": 0.5, "words": 0.6, "translated": 0.9, "meaning": 0.65, "headline": 0.5,
        "tags": 0.16, "theme_scale": 0.8, "tagged": 0.75, "text_of_tagged": 0.1, "prior": 0.16, "floor": 0.3,
        "relative_floor": 0.6, "floor_beside_exact": 0.7, "in_vocabulary": 0.55, "sure_meaning": 0.4,
        "meant_at_all": 0.2, "themed": 0.3,
        "surely_called": 0.88, "surely_called_prior": 0.05, "related": 0.8, "series_of_named": 0.92,
        "series_of_described": 0.9, "series_prior": 0.01, "described": 0.4, "many": 50,
        "same_genre": 0.1, "alike_prior": 0.2, "alike_meaning": 0.5, "alike_floor": 0.5, "few": 10, "nearest_floor": 0.15,
        "ordered_floor": 0.8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("likeness", "scored", "fame", "guess"),
    [
        (0.7, 0.7, 0.0, True),
        (0.7, 0.72, 0.5, True),  # fame adds a little
        (0.7, 0.74, 0.5, False),  # the story was stronger than the name
        (0.7, 0.9, 0.0, False),
        (0.66, 0.66, 0.0, True),
        (0.65, 0.65, 0.0, False),
        (0.79, 0.79, 0.0, True),
        (0.8, 0.8, 0.0, False),  # that name with a slip
    ],
)
def test_guess_is_a_title_whose_name_is_only_somewhat_alike(
    likeness: float, scored: float, fame: float, guess: bool
) -> None:
    assert is_guess(floats(scored), evidence(names=likeness, prior=fame)) is guess


def test_near_names_are_the_three_nearest_with_likeness_of_half_or_more() -> None:
    empty = floats(0, 0, 0, 0, 0)
    found = Evidence(floats(0.5, 0.49, 0.7, 0.6, 0.55), empty, empty, empty, None, None, empty)
    assert near_names(found, found.names >= 0) == [2, 3, 4]
    two = Evidence(floats(0.5, 0.49), *[floats(0, 0)] * 3, None, None, floats(0, 0))
    assert near_names(two, two.names >= 0) == [0]


def test_ordering_is_dropped_when_a_title_is_called_so() -> None:
    query = PARSER.parse("most popular zxqv")
    for likeness, ordering in ((0.65, Ordering.POPULARITY), (0.66, None)):
        assert ordering_of(query, floats(0.5), evidence(names=likeness)) is ordering


def test_words_count_more_where_no_title_has_all_the_themes() -> None:
    """ "ninja farm": both are themes, and no title is tagged with both, or with either."""
    both = {name: floats(0, 0) for name in ("people", "names", "prior")}
    nowhere = Evidence(words=floats(0.9, 0.1), tags=floats(0, 0), meaning=None, headline=None, **both)
    assert np.flatnonzero(fuse(replace(NOTHING, theme_share=1.0), nowhere)).tolist() == [0]


@pytest.mark.parametrize(("meaning", "words", "answers"), [(0.31, 2, 1), (0.29, 2, 0), (None, 2, 1), (0.29, 1, 1)])
def test_translated_query_finds_nothing_if_no_title_is_near_in_meaning(
    meaning: float | None, words: int, answers: int
) -> None:
    """A passage alone counts for two thirds. One word means little to an encoder, and may still be a good one."""
    query = replace(NOTHING, subject="確定", translated=(("decision",), ("report",))[:words])
    found = fuse(query, evidence(words=1.0, meaning=meaning, headline=None if meaning is None else 0.0))
    assert np.count_nonzero(found) == answers
