"""A comparison with "it" is one with what was named before it."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Range, Title

SHELF = a_reader(
    (
        Title("t-1", en="Naruto", ja="ナルト", volumes=72, start_year=1999),
        Title("t-2", en="Death Note", ja="デスノート", volumes=12, start_year=2003),
    )
)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("Naruto... no wait, not Naruto, something like it", ("t-1",)),
        ("Naruto, no wait, something like that", ("t-1",)),
        ("Death Note. anything like it?", ("t-2",)),
        ("I read Death Note and want more like that", ("t-2",)),
        ("Death Note was amazing, more like this one please", ("t-2",)),
        ("ナルト、いや、それみたいなの", ("t-1",)),
        ("デスノートが好き。それに似たやつ", ("t-2",)),
    ],
)
def test_it_is_what_was_named(text: str, like: tuple[str, ...]) -> None:
    found = read(text, SHELF)

    assert found.like == like
    assert set(like) <= set(found.conditions.without_titles)


def test_what_differs_from_it_is_measured_by_it() -> None:
    found = read("Naruto... no wait, not Naruto, something like it but shorter", SHELF)

    assert found.conditions.volumes == Range(None, 36)
    assert [each.condition for each in found.understood] == ["without naruto", "like naruto", "shorter than it"]


@pytest.mark.parametrize(
    "text", ["something like it", "I like romance. something like that", "a manga like this where nobody dies"]
)
def test_where_nothing_is_named_it_is_nothing(text: str) -> None:
    assert read(text, SHELF).like == ()
