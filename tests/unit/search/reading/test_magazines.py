"""The magazine of a series is read from a query in any spelling."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Conditions, Title
from tools.store.search.reading.magazine_names import MagazineNames

LARGE = {
    "Shounen Jump (Weekly)": 9,
    "Shounen Jump (Monthly)": 2,
    "Shounen Jump+": 5,
    "Young Jump": 4,
    "Shounen Magazine (Weekly)": 6,
    "Shounen Magazine (Monthly)": 7,
    "Afternoon": 3,
    "good! Afternoon": 2,
    "Hana to Yume": 3,
    "Ribon Magazine": 2,
    "Karen": 1,
}


@pytest.mark.parametrize(
    ("text", "subject", "magazine"),
    [
        ("romance from Shonen Jump", "romance", "Weekly Shonen Jump"),
        ("Weekly Shonen Jump comedy", "comedy", "Weekly Shonen Jump"),
        ("horror from jump", "horror", "Weekly Shonen Jump"),
        ("Shonen Jump+ horror", "horror", "Shonen Jump+"),
        ("sci-fi published in Afternoon", "sci-fi", "Monthly Afternoon"),
        ("a mystery serialised in Hana to Yume", "mystery", "Hana to Yume"),
        ("Afternoon magazine sci-fi", "sci-fi", "Monthly Afternoon"),
        ("ジャンプのスポーツ漫画", "スポーツ", "Weekly Shonen Jump"),
        ("週刊少年ジャンプのホラー", "ホラー", "Weekly Shonen Jump"),
        ("少年ジャンプ+のホラー", "ホラー", "Shonen Jump+"),
        ("アフタヌーン連載のSF", "sf", "Monthly Afternoon"),
        ("花とゆめで連載されたファンタジー", "ファンタジー", "Hana to Yume"),
        ("なかよし掲載のファンタジー", "ファンタジー", "Nakayoshi"),
    ],
)
def test_magazine_is_read_from_the_wording(text: str, subject: str, magazine: str) -> None:
    found = read(text)

    assert found.conditions.magazines == (magazine,)
    assert found.subject == subject


@pytest.mark.parametrize(
    "text", ["a girl who sings in opera", "スポーツの漫画", "jumping from a roof", "an afternoon in the park"]
)
def test_story_words_are_read_as_no_magazine(text: str) -> None:
    assert read(text).conditions.magazines == ()


@pytest.mark.parametrize(
    ("name", "magazine"),
    [
        ("weekly shonen jump", "Shounen Jump (Weekly)"),
        ("週刊少年ジャンプ", "Shounen Jump (Weekly)"),
        ("monthly shonen jump", "Shounen Jump (Monthly)"),
        ("shonen jump", "Shounen Jump (Weekly)"),
        ("ジャンプ", "Shounen Jump (Weekly)"),
        ("ヤングジャンプ", "Young Jump"),
        ("shonen jump+", "Shounen Jump+"),
        ("shonen magazine", "Shounen Magazine (Monthly)"),
        ("週刊少年マガジン", "Shounen Magazine (Weekly)"),
        ("weekly afternoon", "Afternoon"),
        ("アフタヌーン", "Afternoon"),
        ("りぼん", "Ribon Magazine"),
        ("かりん", None),
        ("naruto", None),
    ],
)
def test_spellings_of_one_magazine_are_matched(name: str, magazine: str | None) -> None:
    assert MagazineNames(LARGE).named(name) == ((magazine,) if magazine else ())


@pytest.mark.parametrize("text", ["nothing from Jump", "ジャンプ系はいらない"])
def test_refused_word_of_magazine_names_refuses_every_magazine_with_it(text: str) -> None:
    assert read(text).conditions.without_magazines == ("Weekly Shonen Jump", "Shonen Jump+", "Weekly Young Jump")


def test_publisher_is_read_as_its_magazines() -> None:
    found = read("集英社のスポーツ漫画")

    assert found.conditions.magazines == ("Weekly Shonen Jump", "Shonen Jump+", "Weekly Young Jump")
    assert found.subject == "スポーツ"


@pytest.mark.parametrize("text", ["not from Viz", "from Viz", "ビズメディア以外", "VIZはいらない"])
def test_publisher_unknown_to_the_records_is_reported_and_not_obeyed(text: str) -> None:
    found = read(text)

    assert (found.conditions, [each.obeyed for each in found.understood]) == (Conditions(), [False])
    assert found.remarks == ("No title here is recorded as from VIZ Media. Say so; promise nothing of it.",)


PUBLISHERS = ("Yen Press", "VIZ Media", "Seven Seas Entertainment", "Pelican & Moss", "集英社", "講談社")


@pytest.mark.parametrize(
    ("text", "subject", "wanted", "refused"),
    [
        ("from Yen Press", "", "Yen Press", None),
        ("under 800 yen from Yen Press", "", "Yen Press", None),
        ("horror not from Viz", "horror", None, "VIZ Media"),
        ("VIZはいらない", "", None, "VIZ Media"),
        ("published by Seven Seas", "", "Seven Seas Entertainment", None),
        ("sailing the seven seas", "sailing the seven seas", None, None),
        ("Pelican and Moss mysteries", "mysteries", "Pelican & Moss", None),
        ("Yen Pressから出ているホラー", "ホラー", "Yen Press", None),
        ("集英社のスポーツ漫画", "スポーツ", "集英社", None),
        ("no Kodansha please", "", None, "講談社"),
    ],
)
def test_publisher_of_the_records_is_wanted_or_excluded(
    text: str, subject: str, wanted: str | None, refused: str | None
) -> None:
    found = read(text, a_reader([Title(f"p-{number}", publisher=name) for number, name in enumerate(PUBLISHERS)]))

    assert (found.conditions.magazines[:1], found.conditions.without_magazines[:1]) == (
        (wanted,) if wanted else (),
        (refused,) if refused else (),
    )
    assert (found.subject, all(each.obeyed for each in found.understood)) == (subject, True)


@pytest.mark.parametrize("text", ["horror, the publisher doesn't matter", "ホラー、出版社は問わない"])
def test_indifference_to_the_publisher_is_read_as_no_requirement(text: str) -> None:
    assert [each.matters for each in read(text).freedoms] == [("magazines", "without_magazines")]
