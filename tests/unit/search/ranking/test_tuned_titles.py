"""The searched texts of a title and the closeness of names, in the tuned numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.support.likeness import one_likeness
from tools.store.models import Author, Conditions, Title
from tools.store.search.conditions.check import satisfies
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.names import AskedAuthor
from tools.store.search.titles.document import AskedName, AuthorKeys, headline, passages, prose_terms
from tools.store.search.titles.names import NameKeys, NameTable, begun_likeness, loanword_likeness, names_of, prior

PARSER = QueryParser()


def test_popularity_is_a_logarithm_of_ratings_or_of_rank() -> None:
    known = {"ratings": Title("t", rating_count=632), "rank": Title("t", popularity_rank=316)}
    assert {name: round(prior(title), 3) for name, title in known.items()} == {"ratings": 0.5, "rank": 0.5}
    assert prior(Title("t", rating_count=4_000_000)) == 1.0
    assert prior(Title("t", popularity_rank=100_000)) == 0.0
    assert prior(Title("t", popularity_rank=1_000_000)) == 0.0
    assert prior(Title("t", rating_count=1)) == pytest.approx(math.log(2) / math.log(400_001))
    assert prior(Title("t", rating_count=0, popularity_rank=1)) == 1.0


def test_prose_terms_weigh_more_in_names_and_tags_than_in_the_synopsis() -> None:
    title = Title("t", en="Blue", romaji="Blue", tags=("Sea",), synopsis_en="Blue sea waves.", synopsis_ja="青い海")
    assert prose_terms(title) == {"sea": 3.0, "blu": 4.0, "wav": 1.0, "青い": 1.0, "い海": 1.0}


def test_headline_is_the_name_and_the_tags() -> None:
    assert headline(Title("t", en="Blue", tags=("Sea", "Drama"))) == "Blue. Sea, Drama"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("At 3.5 km.h it ends.", ["At 3.5 km.h it ends."]),
        ("One.\nTwo\nThree", ["One.", "Two", "Three"]),
        ("一つ。二つ！三つ", ["一つ。", "二つ！", "三つ"]),
        (" . ", ["."]),
    ],
)
def test_passage_is_split_at_sentence_ends(text: str, sentences: list[str]) -> None:
    assert " ".join(passages(Title("t", synopsis_en=text))) == " ".join(sentences)
    stretched = text
    for sentence in sentences:  # over half a passage each, so that no two of them share one
        stretched = stretched.replace(sentence, "x" * 170 + sentence, 1)
    assert [piece.removeprefix("x" * 170) for piece in passages(Title("t", synopsis_en=stretched))] == sentences


@pytest.mark.parametrize(("first", "second", "pieces"), [(165, 165, 1), (165, 166, 2), (330, 1, 2)])
def test_passage_holds_330_characters(first: int, second: int, pieces: int) -> None:
    assert len(passages(Title("t", synopsis_en=f"{'x' * (first - 1)}!{'x' * second}"))) == pieces


def test_japanese_characters_count_threefold_in_a_passage() -> None:
    assert len(passages(Title("t", synopsis_ja="海" * 54 + "。" + "海" * 55))) == 1
    assert len(passages(Title("t", synopsis_ja="海" * 54 + "。" + "海" * 56))) == 2


# -- names


def test_begun_name_counts_by_its_share_from_two_letters_on() -> None:
    shares = [round(begun_likeness("narutoshippuden"[:n], "narutoshippuden"), 3) for n in (1, 2, 3, 14, 15)]
    assert shares == [0.067, 0.8, 0.81, 0.933, 1.0]


def test_typo_costs_one_edit_divided_by_the_longer_length() -> None:
    assert one_likeness("narutp", "naruto") == pytest.approx(5 / 6)
    assert one_likeness("nartuo", "naruto") == pytest.approx(5 / 6), "two letters that changed places"
    assert one_likeness("naruto", "naruto") == 1.0


def test_loanword_is_as_near_as_its_sound_from_a_third_on() -> None:
    assert [round(loanword_likeness(near), 3) for near in (0.34, 0.35, 0.5, 1.0)] == [0.0, 0.82, 0.85, 0.95]


def test_names_are_listed_once_across_scripts_with_kana_readings_only() -> None:
    title = Title("t", en="Naruto", romaji="Naruto", ja="NARUTO", kana="ＮＡＲＵＴＯナルト", alt_titles=("N", ""))
    assert names_of(title) == ("Naruto", "NARUTO", "N")
    assert names_of(replace(title, kana="なると")) == ("Naruto", "NARUTO", "なると", "N")


@pytest.mark.parametrize(
    ("name", "main"), [("Abc: Winter", ("abc",)), ("Ab: Winter", ()), ("Abc Part 2 x", ("abc",)), ("Abc", ())]
)
def test_main_name_before_a_subtitle_has_at_least_three_letters(name: str, main: tuple[str, ...]) -> None:
    assert NameKeys.of(Title("t", en=name)).main == main


def test_nickname_counts_by_its_factor_and_a_main_name_slightly_less() -> None:
    table = NameTable([NameKeys(("abcdef",), ()), NameKeys(("uvwxyz",), ("abcdef",)), NameKeys(("zzzzzz",), ())])
    for asked, found in (
        ([("abcdef", 1.0)], [1.0, 0.95, 0.0]),
        ([("abcdef", 0.98)], [0.98, 0.931, 0.0]),
        ([("abcdef", 0.5), ("abcdeg", 1.0)], [0.833, 0.792, 0.0]),
        ([("abc", 0.98)], [0.838, 0.796, 0.0]),
    ):
        assert [round(float(each), 3) for each in table.likeness(asked)] == found
    assert [round(float(each), 3) for each in table.beginning_with(("ab", "abc"))] == [0.855, 0.812, 0.0]


# -- authors

MIURA = AuthorKeys.from_author(Author("Miura, Kentarou", "三浦建太郎", "みうらけんたろう"))


@pytest.mark.parametrize(
    ("asked", "sure"),
    [
        ("Miura Kentarou", 1.0),
        ("Kentaro Miura", 1.0),
        ("三浦建太郎", 1.0),
        ("みうらけんたろう", 1.0),
        ("dark fantasy Kentaro Miura", 0.97),
        ("三浦建太郎の漫画", 1.0),
        ("三浦建太郎剣", 0.95),
        ("三浦", 0.85),
        ("太郎", 0.85),
        ("三", 0.0),
        ("Miura", 0.85),
        ("Miura sword", 0.0),
        ("Kentaro Miuta", 0.871),
        ("sword", 0.0),
    ],
)
def test_query_names_an_author_with_the_tuned_sureness(asked: str, sure: float) -> None:
    assert round(AskedAuthor(PARSER.parse(asked)).sureness(MIURA), 3) == sure


def test_author_of_one_word_is_less_sure_and_needs_three_letters() -> None:
    assert AskedAuthor(PARSER.parse("CLAMP")).sureness(AuthorKeys.from_author(Author("CLAMP"))) == 0.95
    assert AskedAuthor(PARSER.parse("io")).sureness(AuthorKeys.from_author(Author("Io, Sakisaka"))) == 0.0, "too short"
    assert AskedAuthor(PARSER.parse("oda")).sureness(AuthorKeys.from_author(Author("Oda, Eiichiro"))) == 0.85


@pytest.mark.parametrize(("letters", "sure"), [(8, True), (40, True), (41, False)])
def test_author_typo_is_found_in_names_of_up_to_forty_letters(letters: int, sure: bool) -> None:
    name = ("kasamerona" * 5)[:letters]
    keys = AuthorKeys(frozenset(), (AskedName(name).key,))
    assert (AskedAuthor(PARSER.parse(name[:-1] + "p")).sureness(keys) > 0.8) is sure


# -- conditions


@pytest.mark.parametrize(
    ("conditions", "met"),
    [
        (Conditions(), True),
        (Conditions(genres=("josei",)), True),
        (Conditions(genres=("seinen",)), False),
        (Conditions(min_rating=4.0), True),
        (Conditions(min_rating=4.1), False),
        (Conditions(author="Sato"), True),
        (Conditions(author="Mori"), False),
        (Conditions(genres=("josei",), min_rating=3.0, author="Mori"), False),
    ],
)
def test_title_has_to_satisfy_every_filter(conditions: Conditions, met: bool) -> None:
    title = Title("t", genre="josei", rating=4.0, authors=(Author("Kai, Jo"), Author("Sato, Rin")))
    assert satisfies(title, conditions) is met


def test_unrated_title_satisfies_only_a_minimum_rating_of_zero_or_none() -> None:
    title = Title("t")
    assert [satisfies(title, Conditions(min_rating=least)) for least in (None, 0.0, -1.0, 0.1)] == [True, True, True, False]
