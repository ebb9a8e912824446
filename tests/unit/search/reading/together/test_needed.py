"""What two negations say has to be is asked for; gifts, and what is excluded beside what is wanted, leave the subject."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Conditions, Ordering, Range, Status, Title
from tools.store.search.reading.necessity import needed

FINISHED = Conditions(statuses=(Status.FINISHED,))


@pytest.mark.parametrize(
    ("text", "conditions", "subject"),
    [
        ("完結していないと困る", FINISHED, ""),
        ("完結してないと困ります", FINISHED, ""),
        ("完結していなければ嫌です", FINISHED, ""),
        ("完結してなきゃだめ", FINISHED, ""),
        ("完結済みじゃないとダメなので", FINISHED, ""),
        ("ミステリー、完結していないと困る", FINISHED, "ミステリー"),
        ("5巻以内でないと嫌", Conditions(volumes=Range(None, 5)), ""),
        ("短くないとだめ", Conditions(volumes=Range(None, 5)), ""),
        ("在庫がないと困る", Conditions(in_stock=True), ""),
        ("電子じゃないと無理", Conditions(format="digital"), ""),
        ("恋愛じゃないと嫌", Conditions(), "恋愛"),
        ("ホラーじゃなきゃやだ", Conditions(), "ホラー"),
    ],
)
def test_what_has_to_be_is_no_negation(text: str, conditions: Conditions, subject: str) -> None:
    found = read(text)

    assert found.conditions == conditions
    assert found.subject == subject


@pytest.mark.parametrize(
    "text", ["完結していない", "完結していなくてもいい", "怖くないホラー", "君がいないと困る", "恋愛なし", "嫌いじゃない"]
)
def test_a_single_negation_stays(text: str) -> None:
    assert needed(text) == text


def test_a_title_so_called_is_a_title() -> None:
    reader = a_reader((Title("t-1", en="Only You", ja="君じゃないとダメ"),))

    assert read("君じゃないとダメ", reader).subject == "君じゃないとダメ"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("小学生の姪にプレゼント、動物の話", "動物の話"),
        ("姪への誕生日プレゼントです。動物の話", "動物の話"),
        ("甥に贈り物を探しています、ロボットもの", "ロボットもの"),
    ],
)
def test_that_it_is_a_gift_is_no_subject(text: str, subject: str) -> None:
    found = read(text)

    assert found.conditions.audience is not None
    assert found.subject == subject


@pytest.mark.parametrize(
    ("text", "subject", "unwanted"),
    [
        ("no romance sports manga", "sports manga", "Romance"),
        ("i want no romance mystery manga please", "mystery manga please", "Romance"),
    ],
)
def test_the_theme_before_the_work_is_wanted(text: str, subject: str, unwanted: str) -> None:
    found = read(text)

    assert found.subject.removeprefix("i want ") == subject
    assert found.conditions.without_tags[0] == unwanted
    assert not {"Sports", "Mystery"}.intersection(found.conditions.without_tags)


@pytest.mark.parametrize(
    "text", ["horror, no romance sports manga", "no romance sports, please", "nothing with romance or sports manga"]
)
def test_where_something_else_is_asked_for_all_of_it_is_unwanted(text: str) -> None:
    assert {"Romance", "Sports"} <= set(read(text).conditions.without_tags)


@pytest.mark.parametrize("text", ["安くて面白い漫画", "値段が安めの漫画", "お安くて短いやつ"])
def test_cheap_is_an_order_in_every_form(text: str) -> None:
    assert read(text).ordering is Ordering.PRICE


def test_what_may_be_cheap_is_none() -> None:
    assert read("安くてもいい").ordering is None
