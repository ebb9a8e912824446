"""A customer's wish is read: moods as tags, themes, search words and the recipient."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support import reading as support
from tests.support.cases import cases
from tools.conditions.wanted import Want
from tools.recommend.wish import Wish, content, wish_of
from tools.store.models import Conditions
from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.characters import normalise

TAGS = frozenset(tag for tags in ThemeTable.load().tags.values() for tag in tags)


def read(text: str, tags: frozenset[str] = TAGS) -> Wish:
    said = support.read(text)
    return wish_of(Want("" if said.vague else said.subject, Conditions(), another=said.another), tags)


@cases(
    ("said", "wanted", "unwanted"),
    [
        ("I want to cry", "Drama", "Comedy"),
        ("泣ける漫画を教えて", "Drama", "Gag Humor"),
        ("cosy, nothing bad happens", "Iyashikei", "Horror"),
        ("癒されたい", "Iyashikei", "Gore"),
        ("I had a terrible day", "Iyashikei", "Psychological"),
        ("眠れない夜に", "Slice of Life", "Suspense"),
        ("スカッとする漫画", "Action", "Iyashikei"),
    ],
)
def test_mood_is_read_as_tags_and_not_searched_for(said: str, wanted: str, unwanted: str) -> None:
    wish = read(said)
    assert wish.search == ""
    assert wanted in wish.mood
    assert unwanted in wish.unwanted
    assert not set(wish.mood) & set(wish.unwanted)


def test_tag_asked_for_by_name_is_not_unwanted() -> None:
    wish = read("cosy horror")
    assert wish.wanted == (("Horror",),)
    assert "Horror" not in wish.unwanted


@cases(
    "said",
    [
        "something I would like",
        "surprise me",
        "recommend me a good manga",
        "what should I read next?",
        "おすすめを教えて",
        "何か面白い漫画",
        "present for my niece",
        "a present for my friend",
        "for someone who never read manga",
    ],
)
def test_words_without_a_subject_set_no_search_and_no_theme(said: str) -> None:
    wish = read(said)
    assert (wish.search, wish.wanted, wish.mood, wish.asks) == ("", (), (), False)


@cases(
    ("said", "groups"),
    [("my boyfriend likes football", 1), ("girls love school romance", 3), ("sci-fi, mystery", 2), ("恋愛漫画", 1)],
)
def test_query_of_themes_alone_has_no_search_words(said: str, groups: int) -> None:
    wish = read(said)
    assert wish.search == ""
    assert len(wish.wanted) == groups


@cases("said", ["a chess-like game with ghosts of the past", "海賊王になりたい少年の冒険の始まり"])
def test_words_beyond_themes_and_moods_are_searched_for(said: str) -> None:
    assert read(said).search


def test_theme_without_a_catalogue_tag_is_searched_for_by_its_word() -> None:
    wish = read("football", frozenset({"Drama"}))
    assert (wish.search, wish.wanted) == ("football", ())


@cases(
    "said",
    ["a present for my sister", "for my niece", "my boyfriend likes football", "姪へのプレゼント", "友達に", "子供向け"],
)
def test_wording_about_another_recipient_is_recognised(said: str) -> None:
    assert support.read(said).another


@cases("said", ["for me", "childhood friends to lovers", "My Girlfriend Academy", "彼女、お借りします"])
def test_friends_in_a_story_are_no_recipients(said: str) -> None:
    assert not support.read(said).another


def test_sensitive_tags_are_unwanted_in_a_present_unless_asked_for() -> None:
    assert {"Gore", "Horror", "Ecchi"} <= set(read("a present for my daughter").unwanted)
    asked = read("a horror present for my friend")
    assert "Gore" in asked.unwanted
    assert "Horror" not in asked.unwanted


@given(st.text(max_size=500))
def test_any_text_is_read(text: str) -> None:
    wish = read(text)
    assert set(wish.mood) <= TAGS
    assert len(content(normalise(text))) <= 6 * len(text)
