"""For whom something is wanted, and how old they are."""

from __future__ import annotations

import pytest

from tests.support.reading import read as read_whole
from tools.store.models import Audience
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.readership import find_readership
from tools.store.search.reading.recipients.recipient import find_recipient
from tools.store.search.text.characters import normalise


def claims(text: str) -> list[Claim]:
    return list(find_recipient(normalise(text)))


@pytest.mark.parametrize(
    ("text", "audience"),
    [
        *(
            (text, Audience.ALL_AGES)
            for text in ("birthday present for my niece who is 8", "for a ten-year-old", "age 12", "for kids")
        ),
        *(
            (text, Audience.ALL_AGES)
            for text in ("family-friendly", "4th grade class", "for under 10s", "my 6 yo loves cats")
        ),
        *(
            (text, Audience.ALL_AGES)
            for text in ("8歳の姪に", "小学生の甥に贈る", "小3の娘に", "子供向け", "家族で楽しめる", "十歳の息子が喜ぶ")
        ),
        *((text, Audience.TEEN) for text in ("for my daughter, she's 14", "for teens", "sfw", "中学生向け", "my nephew")),
        *(
            (text, Audience.OLDER_TEEN)
            for text in ("my son turns 16", "for my mum", "for my boss", "高校生の息子へ", "母にプレゼント", "高2の妹に")
        ),
    ],
)
def test_a_recipient_bounds_the_audience(text: str, audience: Audience) -> None:
    assert [claim.conditions.audience for claim in claims(text)] == [audience]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "about a 10-year-old detective",
            "manga about a girl who is 9",
            "16 year old girl who fights",
            "high school romance",
        ),
        *(
            "under 10 volumes",
            "10 volumes",
            "for beginners",
            "小学生が主人公",
            "高校生が主人公の恋愛",
            "10歳の少年が戦う",
            "母に捨てられた少女",
            "少女漫画",
        ),
    ],
)
def test_characters_and_counts_of_volumes_bound_nothing(text: str) -> None:
    assert claims(text) == []


def test_grown_ups_are_bound_by_no_age_and_by_a_readership_where_it_is_said() -> None:
    assert claims("for a thirty year old man")[0].conditions.stated == ()
    assert claims("something for grown-ups")[0].conditions.genres == ("seinen", "josei")
    assert claims("大人向けの漫画")[0].conditions.no_adult


@pytest.mark.parametrize("text", ["18+ manga", "hentai", "成人向け漫画", "adults only", "R18"])
def test_adult_titles_are_asked_for_by_word(text: str) -> None:
    assert [claim.adult for claim in claims(text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "no 18+",
        "nothing nsfw",
        "but not x-rated",
        "18禁以外",
        "成人向け以外の恋愛",
        "エロ本なし",
        "R18じゃない",
        "アダルト抜き",
    ],
)
def test_and_ruled_out_by_the_same_words(text: str) -> None:
    """To read them for a wish would turn what was said round."""
    assert {(claim.adult, claim.conditions.no_adult) for claim in claims(text)} == {(False, True)}


@pytest.mark.parametrize(
    ("text", "genres"),
    [
        ("shonen or seinen action", ("shonen", "seinen")),
        ("shōjo manga", ("shojo",)),
        ("girls' manga", ("shojo",)),
        ("少年漫画", ("shonen",)),
        ("女性向け", ("josei",)),
        ("青年漫画か少年漫画", ("seinen", "shonen")),
    ],
)
def test_a_readership_is_a_condition(text: str, genres: tuple[str, ...]) -> None:
    assert [claim.conditions.genres for claim in find_readership(normalise(text))] == [genres]


@pytest.mark.parametrize("text", ["shonen ai", "shoujo-ai", "a boy and a girl", "少年と犬", "for a boy aged 9"])
def test_what_is_no_readership(text: str) -> None:
    assert list(find_readership(normalise(text))) == []


@pytest.mark.parametrize(
    "text", ["goblin slayer: year one", "the last three years", "20 years of shogi", "a boy who lost his friend"]
)
def test_years_that_are_nobodys_age(text: str) -> None:
    assert claims(text) == []


@pytest.mark.parametrize(
    ("text", "audience"),
    [
        ("godson's 11th birthday", Audience.ALL_AGES),
        ("suitable for children under 12", Audience.ALL_AGES),
        ("presents for two nephews, 7 and 10", Audience.ALL_AGES),
        ("a comic for a boy of nine", Audience.ALL_AGES),
        ("teen daughter into fashion", Audience.TEEN),
        ("our 13 year old twins", Audience.TEEN),
        ("女子中学生が読む恋愛もの", Audience.TEEN),
        ("年長の息子に", Audience.ALL_AGES),
        ("小学生の姪に5巻以内の動物もの", Audience.ALL_AGES),
    ],
)
def test_more_ways_to_say_how_old_somebody_is(text: str, audience: Audience) -> None:
    assert [claim.conditions.audience for claim in claims(text)] == [audience]


@pytest.mark.parametrize("text", ["娘(10歳)に", "息子は7歳です", "甥っ子、8歳に"])
def test_an_age_behind_whose_it_is_counts_too(text: str) -> None:
    assert read_whole(text).conditions.audience is Audience.ALL_AGES
