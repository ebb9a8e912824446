"""Exact conditions: whose work it is, which demographic, how well rated."""

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
def test_a_name_is_matched_in_any_order_and_script(asked: str) -> None:
    assert is_author(asked, MIURA)


@pytest.mark.parametrize("asked", ["Ken Miura", "Kenta", "Miura Jun", "三", "浦建", "", "  ", "建", "Miura Kentarou Jr"])
def test_a_name_with_a_part_that_is_not_the_authors_is_refused(asked: str) -> None:
    assert not is_author(asked, MIURA)


@pytest.mark.parametrize("separator", [" ", "・", "=", ", ", "＝", "　", "･"])
def test_whatever_stands_between_the_parts_of_a_name_separates_them(separator: str) -> None:
    assert is_author(f"ケンタロウ{separator}三浦", MIURA)
    assert is_author(f"Kentaro{separator}Miura", MIURA)
    assert not is_author(f"Ken{separator}taro", MIURA)


def test_a_pen_name_of_one_word_is_matched_whatever_its_case() -> None:
    assert is_author("clamp", CLAMP)


def test_all_parts_must_belong_to_one_author() -> None:
    title = Title("t", authors=(Author("Ohba, Tsugumi"), Author("Obata, Takeshi")))
    assert satisfies(title, Conditions(author="Takeshi Obata"))
    assert not satisfies(title, Conditions(author="Takeshi Ohba"))


def test_an_unrated_title_satisfies_no_minimum_above_zero() -> None:
    assert not satisfies(Title("t"), Conditions(min_rating=0.1))
    assert satisfies(Title("t"), Conditions(min_rating=0))
    assert satisfies(Title("t", rating=4.0), Conditions(min_rating=4.0))
    assert not satisfies(Title("t", rating=3.99), Conditions(min_rating=4.0))


def test_a_genre_is_equal_or_not() -> None:
    assert satisfies(Title("t", genre="seinen"), Conditions(genres=("seinen",)))
    assert not satisfies(Title("t", genre=None), Conditions(genres=("seinen",)))
