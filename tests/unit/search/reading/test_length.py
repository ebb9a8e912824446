"""How long a series is: numbers of volumes with their bounds, and words for them."""

from __future__ import annotations

import pytest

from tests.support.reading import read
from tools.store.models import Conditions, Range


@pytest.mark.parametrize(
    ("text", "subject", "volumes"),
    [
        ("romance under ten volumes", "romance", Range(None, 9)),
        ("less than 5 volumes, horror", "horror", Range(None, 4)),
        ("no more than twenty-five volumes of comedy", "comedy", Range(None, 25)),
        ("horror up to 3 vols", "horror", Range(None, 3)),
        ("mystery within 8 volumes", "mystery", Range(None, 8)),
        ("mystery, four volumes at the very most", "mystery", Range(None, 4)),
        ("mystery, 7 volumes or fewer", "mystery", Range(None, 7)),
        ("more than 30 volumes of sports", "sports", Range(31, None)),
        ("fantasy with at least 20 volumes", "fantasy", Range(20, None)),
        ("15+ volumes, fantasy", "fantasy", Range(15, None)),
        ("exactly 3 volumes of horror", "horror", Range(3, 3)),
        ("around ten volumes, romance", "romance", Range(8, 12)),
        ("between 5 and 10 volumes, sci-fi", "sci-fi", Range(5, 10)),
        ("3-5 volume horror", "horror", Range(3, 5)),
        ("a few volumes of comedy", "comedy", Range(None, 5)),
        ("one-shot horror", "horror", Range(None, 1)),
        ("a single volume mystery", "mystery", Range(1, 1)),
        ("5巻以内の恋愛漫画", "恋愛漫画", Range(None, 5)),
        ("ホラー 10巻未満", "ホラー", Range(None, 9)),
        ("二十巻以上のファンタジー", "ファンタジー", Range(20, None)),
        ("30巻を超えるスポーツ漫画", "スポーツ漫画", Range(31, None)),
        ("全10巻くらいのSF", "sf", Range(8, 12)),
        ("全3巻のミステリー", "ミステリー", Range(3, 3)),
        ("3巻から5巻のホラー", "ホラー", Range(3, 5)),
        ("5巻で終わるコメディ", "コメディ", Range(5, 5)),
        ("読み切りのホラー", "ホラー", Range(None, 1)),
        ("1巻完結のホラー", "ホラー", Range(None, 1)),
        ("short romance manga", "romance manga", Range(None, 5)),
        ("a horror I can finish in a weekend", "a horror", Range(None, 5)),
        ("short horror", "horror", Range(None, 5)),
        ("短めの恋愛漫画", "恋愛漫画", Range(None, 5)),
        ("一気読みできるミステリー", "ミステリー", Range(None, 5)),
        ("long fantasy series", "fantasy series", Range(20, None)),
        ("long-running sports manga", "sports manga", Range(20, None)),
        ("長編ファンタジー", "ファンタジー", Range(20, None)),
        ("horror, no one-shots", "horror", Range(2, None)),
        ("fantasy, not too long", "fantasy", Range(None, 5)),
        ("romance under ten voluems", "romance", Range(None, 9)),
    ],
)
def test_length_is_read(text: str, subject: str, volumes: Range) -> None:
    found = read(text)

    assert found.conditions == Conditions(volumes=volumes)
    assert found.subject == subject


def test_a_loose_word_yields_to_a_number() -> None:
    found = read("fantasy, not too long, 8 volumes at most")

    assert found.conditions == Conditions(volumes=Range(None, 8))
    assert [each.condition for each in found.understood] == ["at most 8 volumes"]
    assert found.subject == "fantasy"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "7 Seeds",
            "86",
            "One Piece 112",
            "20th Century Boys",
            "One Piece volume 3",
            "ワンピース 3巻",
            "one piece volumes 1-3",
        ),
        *(
            "the first 3 volumes of One Piece",
            "a girl with short hair",
            "a long time ago in a village",
            "Short-tempered heroine",
        ),
        *("長い髪のお姫様", "Trigun Maximum 3巻", "how long is Naruto"),
    ],
)
def test_numbers_of_names_and_of_single_volumes_state_nothing(text: str) -> None:
    found = read(text)

    assert found.understood == ()
    assert found.subject == text


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("フリーレンの3巻まで読んだ、次は?", "フリーレン"),
        ("フリーレン3巻まで読みました", "フリーレン"),
        ("NARUTO 12巻まで持ってます", "naruto"),
        ("I finished volume 3 of Frieren", "i finished volume 3 of frieren"),
        ("I've read up to vol. 12 of Naruto", "i've read up to vol. 12 of naruto"),
    ],
)
def test_how_far_somebody_has_read_is_no_length_and_leaves_the_series_wanted(text: str, subject: str) -> None:
    found = read(text)

    assert (found.understood, found.conditions) == ((), Conditions())
    assert found.subject.casefold() == subject
