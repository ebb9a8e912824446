"""Ratings, awards, prices, formats and what can be bought."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import DIGITAL, PAPER, CatalogTerms, Conditions, Ordering, Range
from tools.store.search.reading.finders import finders

AWARDED = (("Award Winning",),)


@pytest.mark.parametrize(
    ("text", "subject", "rating"),
    [
        ("romance rated over 4", "romance", 4.01),
        ("at least 4 stars, horror", "horror", 4),
        ("4.5+ star mystery", "mystery", 4.5),
        ("fantasy with a rating of 4.2 or more", "fantasy", 4.2),
        ("a rating of at least 8 out of 10, fantasy", "fantasy", 4),
        ("five-star comedy", "comedy", 4.5),
        ("評価4以上のSF", "sf", 4),
        ("★4.2以上のホラー", "ホラー", 4.2),
        ("星4つ以上のミステリー", "ミステリー", 4),
    ],
)
def test_a_rating_is_read(text: str, subject: str, rating: float) -> None:
    found = read(text)

    assert found.conditions == Conditions(min_rating=rating)
    assert found.subject == subject


@pytest.mark.parametrize("text", ["highly rated mystery", "well reviewed mystery", "mystery with good reviews"])
def test_what_is_highly_rated_has_four_and_comes_in_that_order(text: str) -> None:
    found = read(text)

    assert (found.conditions, found.ordering) == (Conditions(min_rating=4.0), Ordering.RATING)
    assert found.subject == "mystery"


@pytest.mark.parametrize("text", ["ひるなかの流星 3巻", "a five star hotel's cook", "under 2 stars"])
def test_what_is_no_least_rating_states_none(text: str) -> None:
    assert read(text).conditions.min_rating in (None, 4.5)


@pytest.mark.parametrize(
    "text", ["award-winning sports", "sports that won a prize", "sports, winner of the big manga award"]
)
def test_awards_are_the_tag_that_the_catalogue_has(text: str) -> None:
    found = read(text)

    assert found.conditions == Conditions(tags=AWARDED)
    assert found.subject == "sports"


def test_awards_in_japanese_and_denied() -> None:
    assert read("受賞作のホラー").conditions == Conditions(tags=AWARDED)
    assert read("horror, nothing award-winning").conditions == Conditions(without_tags=("Award Winning",))


def test_awards_are_understood_in_vain_where_no_tag_says_them() -> None:
    found = [claim for find in finders(CatalogTerms({"Horror": 3}, {}), 2026) for claim in find("award-winning horror")]

    assert [(claim.says, claim.obeyed, claim.conditions) for claim in found] == [("award-winning", False, Conditions())]


@pytest.mark.parametrize(
    ("text", "subject", "conditions"),
    [
        ("horror under ¥600", "horror", Conditions(price=Range(None, 599))),
        ("romance for 600 yen or less", "romance", Conditions(price=Range(None, 600))),
        ("comedy, up to 1,200 yen", "comedy", Conditions(price=Range(None, 1200))),
        ("¥500-¥800 mystery", "mystery", Conditions(price=Range(500, 800))),
        ("600円以下の恋愛漫画", "恋愛漫画", Conditions(price=Range(None, 600))),
        ("千円以内のホラー", "ホラー", Conditions(price=Range(None, 1000))),
        ("1冊600円未満のホラー", "ホラー", Conditions(price=Range(None, 599))),
        ("the whole series under ¥8,000, fantasy", "fantasy", Conditions(series_price=Range(None, 7999))),
        ("sci-fi, all volumes for less than 5000 yen", "sci-fi", Conditions(series_price=Range(None, 4999))),
        ("全巻で8000円以内のミステリー", "ミステリー", Conditions(series_price=Range(None, 8000))),
        ("全巻セット1万円以下のSF", "sf", Conditions(series_price=Range(None, 10_000))),
        ("kindle romance", "romance", Conditions(format=DIGITAL)),
        ("digital horror", "horror", Conditions(format=DIGITAL)),
        ("電子書籍で読めるホラー", "ホラー", Conditions(format=DIGITAL)),
        ("paperback fantasy", "fantasy", Conditions(format=PAPER)),
        ("紙の本でSF", "sf", Conditions(format=PAPER)),
        ("horror, no ebooks", "horror", Conditions(format=PAPER)),
        ("in stock sports manga", "sports manga", Conditions(in_stock=True)),
        ("在庫ありのスポーツ漫画", "スポーツ漫画", Conditions(in_stock=True)),
        ("mystery, all volumes available", "mystery", Conditions(in_stock=True, all_volumes=True)),
        ("全巻揃う恋愛漫画", "恋愛漫画", Conditions(in_stock=True, all_volumes=True)),
    ],
)
def test_price_format_and_stock_are_read(text: str, subject: str, conditions: Conditions) -> None:
    found = read(text)

    assert found.conditions == conditions
    assert found.subject == subject


@pytest.mark.parametrize("text", ["horror that can be here by Friday", "明日届くホラー", "horror with next-day delivery"])
def test_a_day_of_delivery_is_understood_and_not_obeyed_beyond_stock(text: str) -> None:
    found = read(text)

    assert found.conditions == Conditions(in_stock=True)
    assert [each.obeyed for each in found.understood] == [False]
    assert found.subject in ("horror", "ホラー")


@pytest.mark.parametrize(
    ("text", "ordering", "subject"),
    [
        ("most popular sports manga", Ordering.POPULARITY, "sports manga"),
        ("best rated romance", Ordering.RATING, "romance"),
        ("the newest horror", Ordering.NEWEST, "horror"),
        ("shortest fantasy", Ordering.SHORTEST, "fantasy"),
        ("cheapest comedy", Ordering.PRICE, "comedy"),
        ("a cheap comedy", Ordering.PRICE, "a comedy"),
        ("一番人気のスポーツ漫画", Ordering.POPULARITY, "スポーツ漫画"),
        ("評価の高い順でホラー", Ordering.RATING, "ホラー"),
        ("新しい順にホラー", Ordering.NEWEST, "ホラー"),
        ("短い順のホラー", Ordering.SHORTEST, "ホラー"),
        ("一番安いホラー", Ordering.PRICE, "ホラー"),
    ],
)
def test_an_ordering_is_read(text: str, ordering: Ordering, subject: str) -> None:
    found = read(text)

    assert (found.ordering, found.conditions) == (ordering, Conditions())
    assert found.subject.removeprefix("a ") == subject.removeprefix("a ")


def test_everything_at_once() -> None:
    found = read(
        "cheapest finished award-winning mystery from Afternoon, 90s, under 10 volumes, in stock, rated 4 or more",
        a_reader(),
    )

    assert found.conditions.stated == ("min_rating", "statuses", "volumes", "years", "tags", "magazines", "in_stock")
    assert found.ordering is Ordering.PRICE
    assert found.subject == "mystery"
