"""Moods in a query: their degree, their negation, and whose mood is meant."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Title
from tools.store.search.query.parser import QueryParser

PARSER = QueryParser()
TAGS = (
    "Tragedy",
    "Drama",
    "Psychological",
    "Horror",
    "Gore",
    "Suspense",
    "Action",
    "Survival",
    "High Stakes Game",
    "Romance",
)
READER = a_reader((Title("x-1", en="Zqxv", tags=TAGS),))


@pytest.mark.parametrize(
    "query", ["a bit melancholic", "kind of sad", "slightly bittersweet", "ちょっと切ない", "少し泣ける話"]
)
def test_weakened_mood_word_is_read_as_that_mood(query: str) -> None:
    parsed = PARSER.parse(query)
    assert [("Drama" in mood.wanted, parsed.theme_share > 0.8) for mood in parsed.moods] == [(True, True)]


@pytest.mark.parametrize("query", ["funny but not silly", "a comedy, not too silly", "コメディだけど軽すぎない"])
def test_denied_tone_is_unwanted_beside_the_wanted_theme(query: str) -> None:
    parsed = PARSER.parse(query)
    assert [(mood.wanted, mood.unwanted) for mood in parsed.moods] == [((), ("Gag Humor", "Parody"))]
    assert ("Comedy",) in parsed.themes


def test_mood_both_wanted_and_denied_is_wanted() -> None:
    assert [bool(mood.wanted) for mood in PARSER.parse("silly, not silly").moods] == [True]


@pytest.mark.parametrize("query", ["i feel sad, cheer me up", "i am sad today", "悲しいときに読みたい"])
def test_feeling_of_the_reader_asks_for_cheering_titles(query: str) -> None:
    assert all("Iyashikei" in mood.wanted for mood in PARSER.parse(query).moods)


@pytest.mark.parametrize("text", ["something sad but not tragic", "bittersweet but not depressing", "泣けるけど鬱展開なし"])
def test_denied_degree_of_a_mood_does_not_exclude_the_mood(text: str) -> None:
    excluded = read(text, READER).conditions.without_tags
    assert excluded[0] == "Tragedy"
    assert "Drama" not in excluded


@pytest.mark.parametrize(
    ("text", "excluded", "asked"),
    [
        ("horror but not violent", "Gore", "Horror"),
        ("action without violence", "Gore", "Action"),
        ("psychological but not too dark", "Gore", "Psychological"),
        ("exciting but not violent", "Gore", "Survival"),
    ],
)
def test_tag_asked_for_is_not_excluded_by_a_denial_that_implies_it(text: str, excluded: str, asked: str) -> None:
    without = read(text, READER).conditions.without_tags
    assert excluded in without
    assert asked not in without


@pytest.mark.parametrize(
    ("text", "tag"),
    [("sad but no drama", "Drama"), ("sad, no romance or horror", "Romance"), ("actually no romance", "Romance")],
)
def test_tag_excluded_by_its_own_name_stays_excluded(text: str, tag: str) -> None:
    assert tag in read(text, READER).conditions.without_tags


@pytest.mark.parametrize("text", ["切ない話", "ちょっと切ない恋愛", "救いがない話"])
def test_word_that_ends_like_a_negation_excludes_nothing(text: str) -> None:
    assert not read(text, READER).conditions.without_tags


def test_not_too_dark_excludes_only_the_dark_tags() -> None:
    for text in ("not too dark", "あまり暗くない話", "暗すぎない"):
        reading = read(text, READER)
        assert set(reading.conditions.without_tags) == {"Psychological", "Gore", "Horror", "Tragedy"}
        assert not reading.subject
