"""The score of an answer to a query with conditions."""

from __future__ import annotations

import pytest

from tests.quality.conditions.score import Shown, reciprocal_rank, satisfied

MANY = frozenset("abcdefg")


@pytest.mark.parametrize(
    ("shown", "fits", "score"),
    [
        ("abcde", MANY, 1.0),
        ("abcxy", MANY, 0.6),
        ("vwxyz", MANY, 0.0),
        ("abcdexyz", MANY, 1.0),
        ("abc", MANY, 0.6),
        ("abc", frozenset("abc"), 1.0),
        ("a", frozenset("abc"), 1.0),
        ("abcx", frozenset("abc"), 0.75),
        ("", frozenset("a"), 0.0),
        ("", frozenset(), 1.0),
        ("x", frozenset(), 0.0),
    ],
)
def test_score_is_the_share_of_fitting_titles_among_the_first_five(shown: str, fits: frozenset[str], score: float) -> None:
    assert satisfied(Shown(tuple(shown)), fits) == pytest.approx(score)


def test_relaxed_answer_scores_one_where_no_title_fits() -> None:
    assert satisfied(Shown(("x",), relaxed=True), frozenset()) == 1.0
    assert satisfied(Shown(("x",), relaxed=True, excluded=1), frozenset()) == 0.0


def test_relaxed_answer_scores_zero_where_a_title_fits() -> None:
    assert satisfied(Shown(("x",), relaxed=True), frozenset("a")) == 0.0


def test_name_query_scores_the_reciprocal_rank() -> None:
    assert reciprocal_rank("abc", {"a"}) == 1.0
    assert reciprocal_rank("abc", {"b", "c"}) == 0.5
    assert reciprocal_rank("abc", {"z"}) == 0.0
