"""When a series began: decades, eras, bounds, and words for long ago and of late."""

from __future__ import annotations

import pytest

from tests.support.reading import YEAR, read
from tools.store.models import Conditions, Range


@pytest.mark.parametrize(
    ("text", "subject", "years"),
    [
        ("horror from the eighties", "horror", Range(1980, 1989)),
        ("80s sports manga", "sports manga", Range(1980, 1989)),
        ("'90s romance", "romance", Range(1990, 1999)),
        ("a fantasy of the 1970s", "a fantasy", Range(1970, 1979)),
        ("late 90s sci-fi", "sci-fi", Range(1995, 1999)),
        ("sci-fi from the early 2000s", "sci-fi", Range(2000, 2004)),
        ("90年代の恋愛漫画", "恋愛漫画", Range(1990, 1999)),
        ("九十年代のホラー", "ホラー", Range(1990, 1999)),
        ("2010年代のスポーツ漫画", "スポーツ漫画", Range(2010, 2019)),
        ("1980年代後半のSF", "sf", Range(1985, 1989)),
        ("昭和のホラー", "ホラー", Range(1926, 1989)),
        ("昭和50年代のホラー", "ホラー", Range(1975, 1984)),
        ("平成の恋愛漫画", "恋愛漫画", Range(1989, 2019)),
        ("reiwa era comedy", "comedy", Range(2019, None)),
        ("20世紀のSF", "sf", Range(1901, 2000)),
        ("mystery since 2018", "mystery", Range(2018, None)),
        ("romance from 2018 onwards", "romance", Range(2018, None)),
        ("romance from 2018", "romance", Range(2018, 2018)),
        ("horror that started after 2015", "horror", Range(2016, None)),
        ("fantasy published before 2000", "fantasy", Range(None, 1999)),
        ("fantasy until 2010", "fantasy", Range(None, 2010)),
        ("sci-fi between 2000 and 2010", "sci-fi", Range(2000, 2010)),
        ("sci-fi from 1985 to 1995", "sci-fi", Range(1985, 1995)),
        ("2015年に始まったコメディ", "コメディ", Range(2015, 2015)),
        ("2018年以降のミステリー", "ミステリー", Range(2018, None)),
        ("2010年以前のスポーツ漫画", "スポーツ漫画", Range(None, 2010)),
        ("2000年から2010年のSF", "sf", Range(2000, 2010)),
        ("romance of the last three years", "romance", Range(YEAR - 3, None)),
        ("ここ5年のホラー", "ホラー", Range(YEAR - 5, None)),
        ("recent sports manga", "sports manga", Range(YEAR - 5, None)),
        ("new horror", "horror", Range(YEAR - 5, None)),
        ("最近のミステリー", "ミステリー", Range(YEAR - 5, None)),
        ("a mystery from this year", "a mystery", Range(YEAR, YEAR)),
        ("classic sci-fi", "sci-fi", Range(None, 1999)),
        ("old-school sports manga", "sports manga", Range(None, 1999)),
        ("懐かしい恋愛漫画", "恋愛漫画", Range(None, 1999)),
        ("nothing before 2000, horror", "horror", Range(2000, None)),
    ],
)
def test_time_is_read(text: str, subject: str, years: Range) -> None:
    found = read(text)

    assert found.conditions == Conditions(years=years)
    assert found.subject == subject


def test_what_a_range_cannot_hold_is_said_not_to_be_obeyed() -> None:
    found = read("sports, not from the nineties")

    assert found.conditions == Conditions()
    assert [(each.words, each.obeyed) for each in found.understood] == [("not from the nineties", False)]
    assert found.subject == "sports"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "mystery set in the 80s",
            "a village in the war, set in 1945",
            "昭和を舞台にした物語",
            "2001 Nights",
            "1984",
            "an old man and the sea",
        ),
        *("a woman in her 30s", "she moves to a new school", "最近失恋した", "the newlyweds next door", "昭和元禄落語心中"),
    ],
)
def test_times_that_a_story_is_about_state_nothing(text: str) -> None:
    found = read(text)

    assert found.conditions.years == Range()
    assert found.subject == text
