"""How candidates become recommendations, and why each is one."""

from __future__ import annotations

import pytest

from tools.recommend.ranking import Excluded, named_as_liked, rank, reason
from tools.recommend.taste import CustomerTaste, Did, KnownTitle
from tools.store.models import Author, Title


def a_title(n: int, **more: object) -> Title:
    return Title(f"manga-{n:06}", en=f"Title {n}", popularity_rank=n, **more)  # type: ignore[arg-type]


ONE, TWO, THREE = a_title(1), a_title(2), a_title(3)


def ids(ranked: list[Title]) -> list[str]:
    return [each.title_id[-1] for each in ranked]


def test_what_fits_the_criteria_comes_before_what_is_only_to_the_readers_taste() -> None:
    assert ids(rank([THREE, TWO], [ONE])) == ["3", "2", "1"]


def test_what_is_in_both_lists_comes_first_and_once() -> None:
    assert ids(rank([THREE, TWO], [TWO, ONE])) == ["2", "3", "1"]


def test_of_equals_the_more_popular_comes_first_and_unranked_ones_last() -> None:
    """The first of one list and the forty-first of the other have the same score, 0.6 / 60 and 1 / 100."""
    hits = [a_title(n) for n in range(100, 140)]
    unranked = Title("manga-000000", en="Nought")
    for better, worse in ((TWO, THREE), (TWO, unranked)):
        for fits, alike in ((better, worse), (worse, better)):
            ranked = rank([*hits, fits], [alike])
            assert ranked.index(better) + 1 == ranked.index(worse)
    assert rank([], []) == []


ODA = Author("Oda, Eiichiro")
OWNED = a_title(7, authors=(ODA,), tags=("Pirates", "Adventure", "Comedy", "Travel"))
OWNER = CustomerTaste(known=(KnownTitle(OWNED, Did.BOUGHT),))
VIEWER = CustomerTaste(known=(KnownTitle(OWNED, Did.VIEWED),))


@pytest.mark.parametrize(
    ("title", "criteria", "reader", "said"),
    [
        (a_title(1, authors=(ODA,)), "sea", OWNER, "Fits “sea” and is by Eiichiro Oda, who also made Title 7, which you have."),
        (a_title(1, tags=("Comedy", "Pirates", "Travel", "Adventure")), None, OWNER, "Shares Comedy, Pirates, Travel with Title 7, which you have."),
        (a_title(1, authors=(ODA,)), None, VIEWER, "Is by Eiichiro Oda, who also made Title 7, which you looked at."),
        (a_title(1, tags=("Comedy", "Pirates")), "sea", VIEWER, "Fits “sea” and shares Comedy, Pirates with Title 7, which you looked at."),
        (OWNED, "sea", VIEWER, "Fits “sea” and is one that you looked at before."),
        (a_title(1, tags=("Comedy",)), None, OWNER, "Is known for Comedy."),
        (a_title(1, tags=("Comedy",)), "sea", OWNER, "Fits “sea”."),
        (a_title(1), None, CustomerTaste(), "Is popular with the store's readers."),
        (a_title(1, rating=4.0), "sea", CustomerTaste(), "Fits “sea”. Rated 4 of 5."),
        (a_title(1, rating=3.99), "sea", CustomerTaste(), "Fits “sea”."),
        (a_title(1), "s" * 200, CustomerTaste(), f"Fits “{'s' * 80}”."),
    ],
)  # fmt: skip
def test_a_reason_is_made_of_facts(title: Title, criteria: str | None, reader: CustomerTaste, said: str) -> None:
    assert reason(title, criteria, reader) == said


def test_of_several_known_titles_the_one_most_alike_is_named() -> None:
    """Of equals the one that was bought."""
    other, third = a_title(8, tags=("Pirates", "Adventure")), a_title(9, tags=OWNED.tags)
    title = a_title(1, tags=("Pirates", "Adventure", "Comedy"))
    known = (KnownTitle(other, Did.BOUGHT), KnownTitle(OWNED, Did.BOUGHT), KnownTitle(third, Did.VIEWED))
    assert "Title 7, which you have" in reason(title, None, CustomerTaste(known=known))
    assert "Title 7, which you looked at" in reason(title, None, CustomerTaste(known=(known[0], *VIEWER.known)))


@pytest.mark.parametrize(
    "name", ["manga-000001", "title 1", "ＴＩＴＬＥ　1", "ワンピース", "One  Piece", "わんぴーす", "op"]
)
def test_a_title_goes_by_its_id_and_any_of_its_names(name: str) -> None:
    title = a_title(1, romaji="One Piece", ja="ワンピース", kana="わんぴーす", alt_titles=("OP",))
    assert title in Excluded((), [name])


@pytest.mark.parametrize("name", ["MANGA-000001", "title", "title 11", "manga-000002", "", " "])
def test_a_title_is_not_named_by_a_part_of_a_name(name: str) -> None:
    assert a_title(1) not in Excluded((), [name])


def test_what_is_owned_or_taken_is_excluded_by_its_id() -> None:
    excluded = Excluded([ONE.title_id], [])
    assert ONE in excluded
    assert TWO not in excluded
    assert TWO in excluded.and_these([TWO])
    assert TWO not in excluded, "the first one stays as it was"


BERSERK, REAL = Title("b", en="Berserk", romaji="Beruseruku", ja="ベルセルク"), Title("r", en="Real", ja="リアル")


@pytest.mark.parametrize(
    ("criteria", "meant"),
    [
        ("like Berserk", "b"),
        ("LOVED BERSERK!", "b"),
        ("beruseruku", "b"),
        ("ベルセルクみたいな漫画", "b"),
        ("I like Berserk, Real and others", "br"),
        ("Berserk warriors", ""),
        ("like berserkers", ""),
        ("drama from real life", ""),
        ("real", "r"),
        ("リアルな話", ""),
        ("", ""),
    ],
)
def test_a_title_is_named_as_liked_where_a_word_says_so_or_nothing_else_is_said(criteria: str, meant: str) -> None:
    assert "".join(each.title_id for each in named_as_liked([BERSERK, REAL], criteria)) == meant
