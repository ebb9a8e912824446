"""Popular titles are searched while the catalogue is away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tests.support.conditions import conditions as any_conditions
from tools.store.catalog.popular import LONGEST_NAME, PopularIndex
from tools.store.models import Author, Conditions, Title
from tools.store.search.conditions.check import satisfies
from tools.store.search.query.parser import QueryParser

PARSER = QueryParser()
ODA = Author("Oda, Eiichirou", "尾田栄一郎", "オダエイイチロウ")
URASAWA = Author("Urasawa, Naoki", "浦沢直樹")
TITLES = (
    Title("a", en="One Piece", ja="ワンピース", authors=(ODA,), genre="shonen", rating=4.6),
    Title("b", en="Fullmetal Alchemist", ja="鋼の錬金術師", kana="はがねのれんきんじゅつし", genre="shonen", rating=4.8),
    Title("c", romaji="Monster", authors=(URASAWA,), genre="seinen", rating=4.7),
    Title("d", romaji="20th Century Boys", ja="20世紀少年", authors=(URASAWA,), genre="seinen", rating=4.5),
    Title("e", en="One Piece Party", authors=(Author("Andou, Ei"), ODA), genre="shonen"),
)
SHELF = PopularIndex(TITLES)
ANY = Conditions()


def called(query: str, conditions: Conditions = ANY, limit: int = 10) -> list[str]:
    return [title.title_id for title in SHELF.find_by_name(query, conditions, limit)]


@cases(
    ("query", "first"),
    [
        ("one piece", "a"),
        ("One Peice", "a"),
        ("ワンピース", "a"),
        ("わんぴーす", "a"),
        ("do you have one piece vol 3", "a"),
        ("鋼の錬金術師", "b"),
        ("hagane no renkinjutsushi", "b"),
        ("full metal alchemist", "b"),
        ("モンスター", "c"),
        ("manga by Urasawa", "c"),
        ("浦沢直樹", "c"),
        ("Naoki Urasawa", "c"),
    ],
)
def test_popular_title_is_found_by_name_in_any_script_with_typos_and_by_author(query: str, first: str) -> None:
    assert called(query)[0] == first


def test_nearest_name_comes_first_and_popularity_breaks_ties() -> None:
    assert called("one piece") == ["a", "e"]
    assert called("one piece party")[0] == "e"
    assert called("Urasawa") == ["c", "d"]


@cases("query", ["a story about friendship", "ghost", "???", "manga", "x" * (LONGEST_NAME + 1)])
def test_text_that_is_no_name_finds_no_popular_title(query: str) -> None:
    assert called(query) == []


def test_title_found_by_name_has_to_satisfy_the_filters() -> None:
    assert called("one piece", Conditions(min_rating=4)) == ["a"]
    assert called("one piece", Conditions(genres=("seinen",))) == []
    assert called("one piece", Conditions(author="Andou")) == ["e"]
    assert called("manga by Urasawa", Conditions(author="Oda")) == []
    assert called("one piece", limit=1) == ["a"]


def test_empty_popular_index_finds_nothing() -> None:
    empty = PopularIndex()
    assert empty.find_by_name("one piece", ANY, 5) == ()
    assert empty.list_ordered(ANY, None, 5) == ()


NAMES = ["Oda", "尾田", "おだ", "naoki urasawa", "浦沢 直樹", "Ei Andou", "Miura", "!", "栄"]


@given(
    any_conditions([(title, ()) for title in TITLES]) | st.builds(Conditions, author=st.sampled_from(NAMES)),
)
def test_popular_titles_matched_are_those_that_satisfy_the_filters(conditions: Conditions) -> None:
    assert SHELF.list_ordered(conditions, None, 10) == tuple(title for title in TITLES if satisfies(title, conditions))
