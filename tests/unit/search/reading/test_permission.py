"""What is allowed after it was not wanted, and to whom."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Audience, Title

TAGS = ("Gore", "Horror", "Ecchi", "Action", "Organized Crime", "Romance", "Isekai", "Harem")
READER = a_reader((Title("x-1", en="Zqxv", tags=TAGS),))


@pytest.mark.parametrize(
    "text",
    [
        "no horror. actually, horror is fine",
        "not horror, wait, horror is ok",
        "no horror. on second thought, i can handle horror",
        "no horror for my niece. actually horror is fine for her",
        "no horror, horror is fine with me after all",
        "no gore. I'm ok with gore",
        "ホラーはなしで、やっぱりホラーもOK",
        "グロは苦手。やっぱりグロくてもいい",
        "娘にはホラーなしで。やっぱり娘もホラーは平気",
    ],
)
def test_what_is_taken_back_is_excluded_no_more_and_not_asked_for(text: str) -> None:
    reading = read(text, READER)
    assert not reading.conditions.without_tags
    assert reading.vague or not reading.subject
    assert "fine" in [each.condition.rpartition(" is ")[2] for each in reading.understood]


@pytest.mark.parametrize(
    "text",
    [
        "no gore for my son, gore is fine for me",
        "no gore for my son, but gore is fine for me",
        "for my son: no gore. i don't mind gore myself",
        "a gift for my 10 year old, no gore. gore is ok for me though",
        "no gore please, it's for my daughter. gore is fine with me",
        "gore is fine for me, no gore for my son",
        "gore is fine for me but not for my son",
        "blood is fine for me, just not for the kids",
        "no gore for my son, i can handle gore",
        "no gore for me, gore is fine for my husband",
        "no gore for my brother. gore is fine for my sister",
        "息子にはグロなしで、私はグロくても平気",
        "息子にはグロなしで、私はグロも平気です",
        "子供用なのでグロなしで、自分はグロくても大丈夫",
        "私はグロくても平気だけど息子にはグロなしで",
        "私はグロくても平気だけど息子にはだめ",
        "夫はグロも平気だけど娘にはグロなしで",
        "gore is fine with me but my son can't handle it",
        "夫はグロ平気だけど私は苦手",
    ],
)
def test_what_one_may_have_is_still_excluded_for_another_and_asked_for_by_nobody(text: str) -> None:
    reading = read(text, READER)
    assert reading.conditions.without_tags == ("Gore",)
    assert reading.vague or not reading.subject
    assert not any("fine" in each.condition for each in reading.understood)


@pytest.mark.parametrize("text", ["violence is ok but no gore", "no gore, but violence is fine", "暴力はOKだけどグロはなし"])
def test_the_wider_word_does_not_permit_the_narrower(text: str) -> None:
    reading = read(text, READER)
    assert reading.conditions.without_tags == ("Gore",)
    assert reading.vague or not reading.subject


@pytest.mark.parametrize(
    "text", ["i'm fine with gore but no horror", "no horror, gore is ok", "グロくても平気だけどホラーはなし"]
)
def test_what_is_fine_is_not_excluded_by_what_only_implies_it(text: str) -> None:
    reading = read(text, READER)
    assert reading.conditions.without_tags == ("Horror",)
    assert reading.vague or not reading.subject


def test_what_implies_it_stays_excluded_for_another() -> None:
    reading = read("no horror for my nephew, i'm fine with gore", READER)
    assert reading.conditions.audience is Audience.TEEN
    assert set(reading.conditions.without_tags) == {"Horror", "Gore"}


def test_only_what_is_named_is_taken_back() -> None:
    reading = read("no horror or mystery. mystery is fine after all")
    assert reading.conditions.without_tags == ("Horror",)


def test_a_readership_is_taken_back() -> None:
    reading = read("not shonen, actually no, shonen is fine")
    assert (reading.conditions.genres, reading.conditions.without_genres) == ((), ())


@pytest.mark.parametrize(
    "text", ["horror is fine", "shonen is ok", "sports, horror is fine too", "a girl who doesn't mind gore"]
)
def test_what_was_never_excluded_is_asked_for(text: str) -> None:
    reading = read(text, READER)
    assert not any("is fine" in each.condition for each in reading.understood)
    assert reading.subject or reading.conditions.genres


@pytest.mark.parametrize(
    ("text", "subject"),
    [("romance for my husband", "romance"), ("a gift for my wife", ""), ("妻に、ロマンス", "ロマンス")],
)
def test_for_whom_it_is_says_nothing_of_it(text: str, subject: str) -> None:
    assert read(text).subject == subject


def test_nothing_without_is_a_wish() -> None:
    reading = read("i don't want anything without romance")
    assert not reading.conditions.without_tags
    assert "romance" in reading.subject
