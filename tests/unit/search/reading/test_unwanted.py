"""What a text says it does not want, in English, romaji and Japanese."""

from __future__ import annotations

import pytest

from tools.store.search.reading.claim import About, Claim
from tools.store.search.reading.unwanted.unwanted import Unwanted
from tools.store.search.reading.vocabulary import Vocabulary
from tools.store.search.text.characters import normalise

_FIND = Unwanted(Vocabulary.shipped())


def claims(text: str) -> list[Claim]:
    return list(_FIND(normalise(text)))


def without(text: str) -> set[str]:
    return {tag for claim in claims(text) for tag in claim.conditions.without_tags}


def left(text: str) -> str:
    rest = normalise(text)
    for claim in reversed(claims(text)):
        rest = rest[: claim.start] + rest[claim.end :]
    return rest


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a fantasy without romance", {"Romance"}),
        ("a ninja story without comedy, and nothing gory please", {"Comedy", "Gore"}),
        ("no romance, gore or ecchi", {"Romance", "Gore", "Ecchi"}),
        ("nothing scary, gory or sad", {"Horror", "Gore", "Drama"}),
        ("without mecha and isekai", {"Mecha", "Isekai"}),
        ("anything but sports", {"Sports"}),
        ("gore-free mystery", {"Gore"}),
        ("a non-violent story", {"Gore"}),
        ("she can't stand harem", {"Harem"}),
        ("tired of isekai", {"Isekai"}),
        ("no more villainess stories", {"Villainess"}),
        ("not too dark", {"Psychological"}),
        ("hold the fanservice", {"Ecchi"}),
        ("i'm not into boys' love", {"Boys Love"}),
        ("horror is not my thing", {"Horror"}),
        ("gore nashi", {"Gore"}),
        ("rather not read anything depressing", {"Tragedy"}),
        ("for a friend who hates gore", {"Gore"}),
        ("ホラー以外", {"Horror"}),
        ("恋愛要素なしの冒険", {"Romance"}),
        ("エロもグロもない漫画", {"Ecchi", "Gore"}),
        ("怖くないミステリー", {"Horror"}),
        ("重すぎない話", {"Psychological"}),
        ("ロボットが出てこないSF", {"Mecha"}),
        ("ハーレムは苦手", {"Harem"}),
        ("異世界ものは飽きた", {"Isekai"}),
        ("お色気控えめのバトル漫画", {"Ecchi"}),
        ("恋愛ではなくミステリー", {"Romance"}),
        ("BL抜きで", {"Boys Love"}),
    ],
)
def test_what_is_not_wanted_becomes_tags(text: str, tags: set[str]) -> None:
    assert tags <= without(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "nothing wrong with romance",
            "not only romance",
            "no matter the romance",
            "can't get enough of horror",
            "not bad, a comedy",
        ),
        *(
            "why not romance",
            "kimi no na wa",
            "ao no exorcist",
            "no longer human",
            "not simple",
            "nothing but romance",
            "i don't mind gore",
        ),
        *(
            "about a boy who hates sports",
            "恋愛だけじゃない学園もの",
            "なんでもない日常の話",
            "ないものはない",
            "ホラーは嫌いじゃない",
        ),
        *(
            "恋愛嫌いな主人公の話",
            "問題ない恋愛",
            "less than ten volumes of comedy",
            "not your typical isekai",
            "horror with school life",
        ),
    ],
)
def test_what_only_looks_like_a_negation_excludes_nothing(text: str) -> None:
    assert claims(text) == []


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("no romance, something funny", "funny", "romance"),
        ("not horror, not gore, something light", "light", "gore"),
        ("no romance but lots of action", "action", "romance"),
        ("no gore and something with sports", "sports", "gore"),
        ("school comedy, no ecchi please", "school comedy", "ecchi"),
        ("not too dark fantasy", "fantasy", "dark"),
        ("no romance, comedy please", "comedy", "romance"),
        ("グロや恋愛は苦手です。面白いスポーツものを", "スポーツ", "恋愛"),
        ("恋愛は苦手だけど、料理は好き", "料理", "恋愛"),
        ("バトル、グロなし", "バトル", "グロ"),
    ],
)
def test_a_negation_ends_where_a_wish_begins(text: str, kept: str, gone: str) -> None:
    assert kept in left(text)
    assert gone not in left(text)


def test_who_wants_less_is_spared_the_thing_and_who_wants_none_what_may_hold_it() -> None:
    assert without("less violent") == {"Gore"}
    assert {"Gore", "Action"} <= without("no violence")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("everything except naruto and one piece", ("naruto and one piece", "naruto", "one piece")),
        ("nothing by eiichiro oda", ("eiichiro oda",)),
        ("mystery. nothing by eiichiro oda either", ("eiichiro oda",)),
        ("ワンピース以外で海賊", ("ワンピース",)),
        ("尾田栄一郎以外の漫画", ("尾田栄一郎",)),
    ],
)
def test_names_are_left_to_the_catalogue(text: str, names: tuple[str, ...]) -> None:
    claim = claims(text)[0]
    assert (claim.names, claim.about) == (names, About.EXCLUDED)


@pytest.mark.parametrize(
    ("text", "genre"), [("romance but not shonen", "shonen"), ("少年漫画以外で", "shonen"), ("no josei", "josei")]
)
def test_a_readership_can_be_unwanted(text: str, genre: str) -> None:
    assert claims(text)[0].conditions.without_genres == (genre,)


def test_only_tags_of_the_catalogue_are_excluded_and_its_own_names_are_known() -> None:
    find = Unwanted(Vocabulary.of({"Horror", "Dieselpunk"}))
    assert next(iter(find("no horror"))).conditions.without_tags == ("Horror",)
    assert next(iter(find("no dieselpunk"))).conditions.without_tags == ("Dieselpunk",)
    assert next(iter(find("no mecha"))).obeyed is False


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("could you suggest a mystery with zero romance", {"Romance"}),
        ("allergic to fanservice", {"Ecchi"}),
        ("historical drama with neither romance nor war", {"Romance", "War"}),
        ("detective stories where nobody gets murdered", {"Gore"}),
        ("keep the romance to a minimum", {"Romance"}),
        ("funny but not crude or perverted", {"Ecchi"}),
        ("fantasy; definitely no ecchi or harem", {"Ecchi", "Harem"}),
        ("girls' love is not what i'm after", {"Girls Love"}),
        ("a manga for somebody who gets scared", {"Horror"}),
        ("血が苦手な友達に", {"Gore"}),
        ("戦争も政治もないSF", {"War", "Politics"}),
        ("転生ものにはもう飽きました", {"Reincarnation"}),
        ("暴力シーンが少なくて泣ける話", {"Gore"}),
        ("ホラーとかグロいのは無理なので", {"Horror", "Gore"}),
        ("ゾンビもヴァンパイアも出てこない怪奇もの", {"Zombies", "Vampire"}),
    ],
)
def test_more_ways_to_say_it(text: str, tags: set[str]) -> None:
    assert tags <= without(text)


def test_what_is_excepted_from_an_authors_works_is_one_of_them() -> None:
    (claim,) = claims("anything by naoki urasawa except monster")
    assert (claim.names, claim.conditions.without_tags) == (("monster",), ())


def test_what_has_no_tag_is_said_to_be_excluded_by_nothing() -> None:
    (claim,) = Unwanted(Vocabulary.of({"Romance"}))("no romance or politics")
    assert claim.says == "without Romance (no tag for politics)"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("not naruto, not bleach, but ninja", ("naruto", "bleach")),
        ("ninja, but not naruto and not bleach", ("naruto", "bleach")),
        ("ninja, not naruto, not bleach", ("naruto", "bleach")),
        ("funny, not naruto", ("naruto",)),
    ],
)
def test_after_a_name_the_next_word_is_one_too(text: str, names: tuple[str, ...]) -> None:
    assert tuple(name for claim in claims(text) if claim.about is About.EXCLUDED for name in claim.names) == names


@pytest.mark.parametrize("text", ["ninja, but not stupid", "a comedy and not stupid"])
def test_a_plain_word_alone_is_no_name(text: str) -> None:
    assert [claim for claim in claims(text) if claim.about is About.EXCLUDED] == []


@pytest.mark.parametrize("text", ["something by urasawa without romance", "anything by urasawa with no romance"])
def test_what_an_authors_works_are_to_be_without_may_be_a_theme(text: str) -> None:
    assert "Romance" in without(text)
