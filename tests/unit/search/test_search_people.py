"""Exact conditions: author, demographic and rating."""

from __future__ import annotations

import pytest

from tools.store.models import Author, Conditions, Title
from tools.store.search.conditions.check import satisfies
from tools.store.search.titles.document import is_author

MIURA = Author("Miura, Kentarou", "三浦建太郎", "ミウラケンタロウ")
CLAMP = Author("CLAMP", "CLAMP", None)


@pytest.mark.parametrize(
    "asked",
    [
        "Kentaro Miura", "Miura Kentarou", "miura, kentarō", "MIURA", "三浦建太郎", "三浦 建太郎", "三浦",
        "みうらけんたろう", "ミウラ・ケンタロウ", "ケンタロウ",
    ],
)  # fmt: skip
def test_author_is_matched_in_any_order_and_script(asked: str) -> None:
    assert is_author(asked, MIURA)


@pytest.mark.parametrize("asked", ["Ken Miura", "Kenta", "Miura Jun", "三", "浦建", "", "  ", "建", "Miura Kentarou Jr"])
def test_author_is_not_matched_by_a_foreign_or_partial_name(asked: str) -> None:
    assert not is_author(asked, MIURA)


@pytest.mark.parametrize("separator", [" ", "・", "=", ", ", "＝", "　", "･"])
def test_any_separator_splits_the_parts_of_an_author_name(separator: str) -> None:
    assert is_author(f"ケンタロウ{separator}三浦", MIURA)
    assert is_author(f"Kentaro{separator}Miura", MIURA)
    assert not is_author(f"Ken{separator}taro", MIURA)


def test_pen_name_of_one_word_is_matched_in_any_case() -> None:
    assert is_author("clamp", CLAMP)


def test_all_parts_of_a_name_must_belong_to_one_author() -> None:
    title = Title("t", authors=(Author("Ohba, Tsugumi"), Author("Obata, Takeshi")))
    assert satisfies(title, Conditions(author="Takeshi Obata"))
    assert not satisfies(title, Conditions(author="Takeshi Ohba"))


def test_unrated_title_satisfies_no_minimum_above_zero() -> None:
    assert not satisfies(Title("t"), Conditions(min_rating=0.1))
    assert satisfies(Title("t"), Conditions(min_rating=0))
    assert satisfies(Title("t", rating=4.0), Conditions(min_rating=4.0))
    assert not satisfies(Title("t", rating=3.99), Conditions(min_rating=4.0))


def test_genre_condition_needs_the_same_genre() -> None:
    assert satisfies(Title("t", genre="seinen"), Conditions(genres=("seinen",)))
    assert not satisfies(Title("t", genre=None), Conditions(genres=("seinen",)))
