"""Titles that a text compares with, and those that the customer knows."""

from __future__ import annotations

import pytest

from tools.store.models import Author, Conditions, Range, Title
from tools.store.search.reading.claim import About, Claim, Relative
from tools.store.search.reading.comparison import Comparison
from tools.store.search.reading.relative import conditions_beside
from tools.store.search.reading.vocabulary import Vocabulary
from tools.store.search.text.characters import normalise

_FIND = Comparison(Vocabulary.shipped())


def claims(text: str) -> list[Claim]:
    return list(_FIND(normalise(text)))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("like Berserk", "berserk"),
        ("something like Berserk but shorter", "berserk"),
        ("similar to Vagabond, less violent", "vagabond"),
        ("loved Spice and Wolf, what next?", "spice and wolf"),
        ("manga like Nana from the nineties", "nana"),
        ("shorter than One Piece", "one piece"),
        ("something I don't own yet, as grand as Kingdom", "kingdom"),
        ("ワンピースみたいな短い漫画", "ワンピース"),
        ("ベルセルクのような話", "ベルセルク"),
        ("進撃の巨人が好きな人におすすめ", "進撃の巨人"),
        ("「のだめカンタービレ」に似た漫画", "のだめカンタービレ"),
    ],
)
def test_the_title_that_is_compared_with(text: str, name: str) -> None:
    assert [claim.names[0] for claim in claims(text) if claim.about is About.LIKE] == [name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I've read Naruto and One Piece, what next", {"naruto", "one piece"}),
        ("already own Death Note", {"death note"}),
        ("baseball. Not Touch, I have read that already", {"touch"}),
        ("not Baby Steps, we've got that one", {"baby steps"}),
        ("I just finished Monster", {"monster"}),
        ("ワンピースは読んだので別のを", {"ワンピース"}),
        ("NARUTOとBLEACHはもう読みました", {"naruto", "bleach"}),
    ],
)
def test_titles_that_are_known(text: str, names: set[str]) -> None:
    assert names <= {name for claim in claims(text) if claim.about is About.KNOWN for name in claim.names}


@pytest.mark.parametrize(
    "text",
    [
        "something i would like",
        "my boyfriend likes football",
        "i like romance",
        "i don't like naruto",
        "i haven't read monster",
        "恋愛が好き",
    ],
)
def test_a_taste_is_no_comparison(text: str) -> None:
    assert claims(text) == []


def test_what_stands_before_like_is_what_is_wanted() -> None:
    (claim,) = claims("something light like yotsuba")
    assert claim.start == len("something light ")


@pytest.mark.parametrize(
    ("text", "relative"),
    [
        ("like nana but shorter", Relative.SHORTER),
        ("longer than nana", Relative.LONGER),
        ("ナナみたいでもっと新しい、ナナのような漫画", Relative.NEWER),
        ("like nana, but not by the same author", Relative.BY_ANOTHER),
        ("similar to nana by a different writer", Relative.BY_ANOTHER),
        ("ナナみたいな漫画、同じ作者以外で", Relative.BY_ANOTHER),
        ("ナナみたいな別の作家の漫画", Relative.BY_ANOTHER),
    ],
)
def test_how_the_answers_are_to_differ(text: str, relative: Relative) -> None:
    assert relative in [claim.relative for claim in claims(text)]


def test_nothing_is_shorter_where_nothing_is_compared() -> None:
    assert claims("a shorter story, newer too, not by the same author") == []


def test_shorter_is_at_most_half_and_an_unknown_length_a_long_one() -> None:
    title = Title(title_id="manga-1", en="X", volumes=41, start_year=1989)
    unknown = Title(title_id="manga-2", en="Y")
    assert conditions_beside(title, Relative.SHORTER) == Conditions(volumes=Range(most=20))
    assert conditions_beside(unknown, Relative.SHORTER) == Conditions(volumes=Range(most=10))
    assert conditions_beside(unknown, Relative.LONGER) is None
    assert conditions_beside(title, Relative.NEWER) == Conditions(years=Range(least=1990))
    assert conditions_beside(unknown, Relative.OLDER) is None


def test_another_author_is_none_of_those_who_made_it() -> None:
    title = Title("manga-1", en="X", authors=(Author("Ohba, Tsugumi"), Author("Obata, Takeshi")))
    assert conditions_beside(title, Relative.BY_ANOTHER) == Conditions(without_authors=("Ohba, Tsugumi", "Obata, Takeshi"))
    assert conditions_beside(Title("manga-2", en="Y"), Relative.BY_ANOTHER) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I have read Naruto, Bleach and One Piece", ("naruto", "bleach", "one piece")),
        ("I liked Nana, Paradise Kiss, and Honey and Clover. Something sad", ("nana", "paradise kiss")),
        ("loved Monster, something short", ("monster",)),
        ("like Berserk, gory and finished", ("berserk",)),
    ],
)
def test_a_list_that_an_and_closes_is_all_of_it_names(text: str, names: tuple[str, ...]) -> None:
    (claim,) = (claim for claim in claims(text) if claim.about in (About.LIKE, About.KNOWN))
    assert set(names) <= set(claim.names)
    assert ("something short" in " ".join(claim.names)) is False
