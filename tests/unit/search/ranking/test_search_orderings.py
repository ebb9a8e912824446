"""Orderings are read from the words of a query, and titles are ordered by them."""

from __future__ import annotations

import pytest

from tools.store.models import Ordering, Title
from tools.store.search.query.parser import QueryParser, read_ordering
from tools.store.search.ranking.candidates import UNKNOWN, in_order, standing, weighted_rating
from tools.store.search.text.romaji import sound_key

POPULAR, RATED, NEWEST = Ordering.POPULARITY, Ordering.RATING, Ordering.NEWEST


@pytest.mark.parametrize(
    ("text", "ordering", "rest"),
    [
        ("most popular romance", POPULAR, "romance"),
        ("what is the most read manga", POPULAR, "what is manga"),
        ("best-selling horror", POPULAR, "horror"),
        ("一番人気の恋愛漫画", POPULAR, "恋愛漫画"),
        ("売れ筋", POPULAR, ""),
        ("popular shojo", POPULAR, "shojo"),
        ("popular seinen manga", POPULAR, "seinen manga"),
        ("人気の少女漫画", POPULAR, "少女漫画"),
        ("新刊", NEWEST, ""),
        ("top rated", RATED, ""),
        ("highest rated seinen", RATED, "seinen"),
        ("評価が高い少年漫画", RATED, "少年漫画"),
        ("newest shonen", NEWEST, "shonen"),
        ("最新のsf", NEWEST, "sf"),
        ("新しい順", NEWEST, ""),
        ("newest, best rated", NEWEST, ", best rated"),
    ],
)
def test_ordering_words_are_read_and_removed_from_the_query(text: str, ordering: Ordering, rest: str) -> None:
    assert read_ordering(text) == (ordering, rest)


@pytest.mark.parametrize(
    "text",
    [
        "berserk",
        "the world's best assassin",
        "人気者",
        "popular girl",
        "人気の少女",
        "新しい世界",
        "latent",
        "a new gate",
        "top of the rated",
    ],
)
def test_query_without_ordering_words_stays_unchanged(text: str) -> None:
    assert read_ordering(text) == (None, text)


def test_query_with_ordering_words_is_still_tried_as_a_name() -> None:
    """A title that is called "The Newest" is found by its name."""
    parsed = QueryParser().parse("the newest gate")
    assert parsed.ordering is NEWEST
    assert sound_key("the newest gate") in parsed.names


def test_rating_by_few_readers_is_drawn_to_the_average() -> None:
    few, many = Title("a", rating=5.0, rating_count=2), Title("b", rating=4.5, rating_count=100_000)
    assert weighted_rating(few) < 3.6 < weighted_rating(many) < 4.5
    assert weighted_rating(Title("c", rating=4.5)) == 4.0
    assert weighted_rating(Title("d")) == UNKNOWN


def test_titles_of_unknown_value_come_last_and_popularity_breaks_ties() -> None:
    titles = [
        Title("unknown", rating_count=9000),
        Title("old", start_year=1990),
        Title("new", start_year=2020),
        Title("new and famous", start_year=2020, rating_count=5000),
    ]
    assert [t.title_id for t in in_order(titles, NEWEST)] == ["new and famous", "new", "old", "unknown"]
    assert [t.title_id for t in in_order(titles, POPULAR)][:2] == ["unknown", "new and famous"]
    assert standing(titles[0], NEWEST) == UNKNOWN


@pytest.mark.parametrize(
    ("query", "author", "empty"),
    [
        ("Oda", "Oda", True),
        ("oda", "Eiichiro Oda", True),
        ("尾田", "尾田栄一郎", True),
        ("manga by Eiichiro Oda", "Oda Eiichiro", True),
        ("Oda pirates", "Oda", False),
        ("One Piece", "Oda", False),
        ("Oda", None, False),
        ("…", "Oda", True),
    ],
)
def test_query_that_repeats_the_author_argument_is_empty(query: str, author: str | None, empty: bool) -> None:
    assert QueryParser().parse(query, author).empty is empty
