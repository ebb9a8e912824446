"""Misspelled words are read as the word they are meant for, and correct ones as themselves."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Conditions, Range, Status

READER = a_reader()
FINISHED, RUNNING = Conditions(statuses=(Status.FINISHED,)), Conditions(statuses=(Status.PUBLISHING,))


@pytest.mark.parametrize(
    ("said", "conditions"),
    [
        ("かんけつした漫画", FINISHED),
        ("完けつした漫画", FINISHED),
        ("官結した漫画", FINISHED),
        ("連歳中の漫画", RUNNING),
        ("れん載中の漫画", RUNNING),
        ("finnished", FINISHED),
        ("finishedddd", FINISHED),
        ("ongoin", RUNNING),
    ],
)
def test_misspelled_status_is_read(said: str, conditions: Conditions) -> None:
    assert read(said, READER).conditions == conditions


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("ミステソー", ""),
        ("ファソタジー", "Fantasy"),
        ("ファンタジイー", "Fantasy"),
        ("ファンタヅー", "Fantasy"),
        ("ロマソス", "Romance"),
        ("スポ−ツの漫画", "Sports"),
        ("れんあいの漫画", "Romance"),
        ("horor", "Horror"),
        ("horrrrror", "Horror"),
        ("romanse", "Romance"),
    ],
)
def test_misspelled_theme_is_read(said: str, tag: str) -> None:
    assert any(tag in group for group in read(said, READER).conditions.tags) == bool(tag)


@pytest.mark.parametrize(
    "said", ["簡潔な話", "楽園の話", "シリーズ", "ホテル", "hence", "action bar none", "ラブソングの漫画", "ホラーゲーム"]
)
def test_correctly_spelled_word_is_not_read_as_a_typo_of_a_condition(said: str) -> None:
    """Nor as the condition that a longer katakana word begins with."""
    found = read(said, READER).conditions
    assert not found.statuses
    assert not {"Romance", "Mystery", "Horror"}.intersection(tag for group in found.tags for tag in group)


def test_either_of_two_decades_is_read_as_one_range() -> None:
    assert read("from the sixties or seventies", READER).conditions.years == Range(1960, 1979)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("ホラー・ミステリー・恋愛、どれも苦手", ("Horror", "Mystery", "Romance")),
        ("horror? romance? No thanks.", ("Horror", "Romance")),
        ("nothing with horror, mystery or unearthly romance", ("Horror", "Mystery", "Romance")),
        ("恋愛は紹介しなくていいです", ("Romance",)),
        ("noooo horror", ("Horror",)),
    ],
)
def test_exclusion_applies_to_its_whole_list(said: str, refused: tuple[str, ...]) -> None:
    found = read(said, READER).conditions
    assert set(refused) <= set(found.without_tags)
    assert not found.tags


def test_word_before_a_bracket_is_not_part_of_the_list_inside_it() -> None:
    found = read("恋愛（ホラー・ミステリー除外）", READER).conditions
    assert "Romance" not in found.without_tags
    assert {"Horror", "Mystery"} <= set(found.without_tags)
