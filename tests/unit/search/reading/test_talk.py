"""Conditions as they are said in passing, and what is left of such sentences to search by."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.models import Audience, Title
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

TITLES = (
    Title("t-1", en="Dragon Ball", ja="ドラゴンボール", tags=("Action", "Martial Arts"), volumes=42),
    Title("t-2", en="Vinland Saga", ja="ヴィンランド・サガ", tags=("Historical", "Adventure"), volumes=20),
    Title("t-3", en="Naruto", ja="ナルト", tags=("Action", "Super Power", "Supernatural"), volumes=72),
    Title("t-4", en="New Game!", tags=("Comedy", "Workplace")),
    Title("t-5", en="Stupid", tags=("Love Polygon", "Romance", "Horror", "Gore", "Harem", "Ecchi", "Samurai", "Drama")),
    Title(
        "t-6", en="Blue Whale", tags=("Isekai", "Fantasy", "Slice of Life", "Tragedy", "School"), magazine="Ribon Magazine"
    ),
)


def read(text: str) -> Reading:
    reader = Reader(NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    return asyncio.run(reader.read(text, Deadline.after(5)))


@pytest.mark.parametrize(
    ("text", "subject", "tags"),
    [
        ("fantasy, excluding: harem, ecchi, isekai", "fantasy", {"Harem", "Ecchi", "Isekai"}),
        ("i cant stand love triangels", "", {"Love Polygon"}),
        ("slice of life with out drama", "slice of life", {"Drama"}),
        ("comedy with no horor", "comedy", {"Horror"}),
        ("slice of life, nobody gets hurt", "slice of life", {"Gore", "Horror"}),
        ("異世界（エロ・ハーレム除外）", "異世界", {"Ecchi", "Harem"}),
        ("侍は飽きたので侍以外の時代物", "時代物", {"Samurai"}),
        ("超自然ものではないミステリー", "ミステリー", {"Supernatural"}),
        ("異世界転生はもういいから、学園コメディ", "学園コメディ", {"Isekai"}),
    ],
)
def test_what_is_not_wanted_is_taken_out_whole(text: str, subject: str, tags: set[str]) -> None:
    found = read(text)

    assert found.subject == subject
    assert tags <= set(found.conditions.without_tags)


@pytest.mark.parametrize(
    ("text", "title_ids"),
    [
        ("martial arts, Dragon Ball excluded", ("t-1",)),
        ("action but not Dragon Ball", ("t-1",)),
        ("ドラゴンボール抜きでバトル漫画", ("t-1",)),
        ("ドラゴンボールでもナルトでもない冒険もの", ("t-1", "t-3")),
        ("action but neither Dragon Ball nor Naruto", ("t-1", "t-3")),
    ],
)
def test_titles_that_are_not_wanted_go_by_name(text: str, title_ids: tuple[str, ...]) -> None:
    assert set(read(text).conditions.without_titles) == set(title_ids)


@pytest.mark.parametrize("text", ["funny but not stupid", "a village without children", "comedy but with magic"])
def test_a_word_after_a_negation_is_not_a_name_for_one_title_being_called_so(text: str) -> None:
    assert read(text).understood == ()


@pytest.mark.parametrize(
    ("text", "title_id"),
    [
        ("Vinland Saga but finished", "t-2"),
        ("naruto but shorter", "t-3"),
        ("same vibe as Naruto", "t-3"),
        ("ナルトみたいだけどもっと短いやつ", "t-3"),
        ("ナルトは好きだけど", "t-3"),
    ],
)
def test_what_the_rest_differs_from_is_what_it_is_like(text: str, title_id: str) -> None:
    assert read(text).like == (title_id,)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("8歳の女の子の誕生日プレゼント", ""),
        ("4歳と6歳の子に", ""),
        ("小児科の待合室に置ける漫画", ""),
        ("学童クラブに置くスポーツ漫画", "スポーツ漫画"),
        ("7歳の息子が恐竜に夢中", "恐竜"),
        ("my daughter is 10 and loves magic", "magic"),
        ("my grandson just turned 7 and loves football", "football"),
        ("manga for our elementary school library", ""),
        ("books for the waiting room of a children's hospital", ""),
        ("comedy safe for kids pls", "comedy"),
        ("what could I read with my 5 year old", ""),
    ],
)
def test_for_a_child_and_nothing_of_it_is_left(text: str, subject: str) -> None:
    found = read(text)

    assert found.conditions.audience is Audience.ALL_AGES
    assert found.subject == subject


@pytest.mark.parametrize(
    "text",
    [
        "story set in an elementary school",
        "a girl hates school and runs away to sea",
        "two brothers who lost their bodies and cannot stand war",
        "a world where there is no magic",
        "a kindergarten teacher opens a bakery",
        "a widow in the 1920s opens the first bookshop",
        "幼稚園が舞台のコメディ",
        "7歳の娘が失踪する話",
        "世界から音がなくなった話",
        "魔法のない世界で剣士を目指す少年",
    ],
)
def test_a_story_states_nothing(text: str) -> None:
    assert read(text).understood == ()


def test_a_name_that_is_asked_about_is_left_whole() -> None:
    assert read("is New Game finished").subject == "new game"


def test_a_name_in_katakana_is_no_magazine_of_nearly_the_same_sound() -> None:
    assert read("りぼんの漫画").conditions.magazines == ("Ribon Magazine",)
    assert read("リボーンの漫画").conditions.magazines == ()
