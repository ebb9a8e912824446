"""Titles are excluded by id and by name."""

from __future__ import annotations

from itertools import islice

from tests.support.cases import cases
from tools.recommend.chosen import leave_out
from tools.store.models import Title
from tools.store.search.text.characters import normalise


def a_title(n: int, **more: object) -> Title:
    return Title(f"manga-{n:06}", en=f"Title {n}", popularity_rank=n, **more)  # type: ignore[arg-type]


def left(titles: list[Title], named: str) -> list[Title]:
    return list(leave_out(titles, frozenset([named]), frozenset([normalise(named)])))


ONE, TWO = a_title(1), a_title(2)


@cases("name", ["manga-000001", "title 1", "ＴＩＴＬＥ　1", "ワンピース", "One  Piece", "わんぴーす", "op"])
def test_title_is_excluded_by_its_id_or_any_of_its_names(name: str) -> None:
    title = a_title(1, romaji="One Piece", ja="ワンピース", kana="わんぴーす", alt_titles=("OP",))
    assert left([title], name) == []


@cases("name", ["MANGA-000001", "title", "title 11", "manga-000002", "", " "])
def test_title_is_not_excluded_by_a_part_of_its_name(name: str) -> None:
    assert left([ONE], name) == [ONE]


def test_owned_title_is_excluded_by_its_id_and_no_more_titles_are_read_than_needed() -> None:
    titles = iter([ONE, TWO, a_title(3), a_title(4)])
    assert list(islice(leave_out(titles, frozenset([ONE.title_id]), frozenset()), 2)) == [TWO, a_title(3)]
    assert next(titles) == a_title(4)
