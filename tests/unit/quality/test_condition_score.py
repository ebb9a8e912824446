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
def test_the_share_of_the_first_five_that_fit(shown: str, fits: frozenset[str], score: float) -> None:
    assert satisfied(Shown(tuple(shown)), fits) == pytest.approx(score)


def test_where_nothing_fits_it_is_right_to_say_what_was_relaxed() -> None:
    assert satisfied(Shown(("x",), relaxed=True), frozenset()) == 1.0
    assert satisfied(Shown(("x",), relaxed=True, excluded=1), frozenset()) == 0.0


def test_to_say_that_something_was_relaxed_does_not_help_where_something_fits() -> None:
    assert satisfied(Shown(("x",), relaxed=True), frozenset("a")) == 0.0


def test_a_name_counts_by_its_place() -> None:
    assert reciprocal_rank("abc", {"a"}) == 1.0
    assert reciprocal_rank("abc", {"b", "c"}) == 0.5
    assert reciprocal_rank("abc", {"z"}) == 0.0
