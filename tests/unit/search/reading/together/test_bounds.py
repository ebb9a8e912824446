"""Two bounds in one text: each means what it means alone, in any order and however they are joined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations

import pytest

from session.resilience.deadline import Deadline
from tests.support.reading import a_reader, read
from tools.store.models import Conditions, Range
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

_MOST = (
    "under {}",
    "less than {}",
    "at most {}",
    "up to {}",
    "max {}",
    "no more than {}",
    "{} or less",
    "{} and under",
    "{} max",
)
_LEAST = ("over {}", "more than {}", "at least {}", "min {}", "{} or more", "{} and over", "{} and up", "{} minimum")
_MOST_JA = ("{}以内", "{}以下", "{}未満", "{}まで", "最大{}", "最高でも{}")
_LEAST_JA = ("{}以上", "{}を超える", "少なくとも{}", "最低{}")
_JOINED = (" and ", " or ", ", ", " but ", ", and ")
_JOINED_JA = ("で", "、", "で、", "かつ", "、かつ")
_BOUNDS = {
    "volumes": [each.format("10 volumes") for each in (*_MOST, *_LEAST)],
    "price": [each.format(number) for number in ("500 yen", "¥500") for each in (*_MOST, *_LEAST)],
    "rating": [each.format("4 stars") for each in _LEAST],
    "rated": [each.format("4") for each in ("rated over {}", "rated at least {}", "rated {} or more", "rated {}")],
    "years": ["before 2000", "after 2010", "since 2010", "from 2010 onwards", "2010 or later"],
}
_BOUNDS_JA = {
    "volumes": [each.format("10巻") for each in (*_MOST_JA, *_LEAST_JA)],
    "price": [each.format("500円") for each in (*_MOST_JA, *_LEAST_JA)],
    "rating": ["評価4以上", "星4つ以上", "評価4"],
    "years": ["2010年以降", "2000年以前", "2010年から"],
}


@pytest.fixture(scope="module")
def reader() -> Reader:
    return a_reader()


async def _all(reader: Reader, texts: Sequence[str]) -> dict[str, Reading]:
    deadline = Deadline.after(60)
    return {text: await reader.read(text, deadline) for text in texts}


def _amiss(reader: Reader, bounds: dict[str, list[str]], one: str, other: str, joints: tuple[str, ...]) -> list[str]:
    """The texts of which not both bounds were read as they are alone, or that leave a word over."""
    texts = [text for name in (one, other) for text in bounds[name]]
    alone = {text: each.conditions for text, each in asyncio.run(_all(reader, texts)).items()}
    assert all(len(each.stated) == 1 for each in alone.values()), alone
    found = {
        f"{first}{joints[(i + j) % len(joints)]}{second}": alone[first].and_also(alone[second])
        for i, first in enumerate(bounds[one])
        for j, second in enumerate(bounds[other])
    }
    readings = asyncio.run(_all(reader, tuple(found)))
    return [
        f"{text}: {read_.conditions.stated} {read_.subject!r}"
        for text, read_ in readings.items()
        if (read_.conditions, read_.subject) != (found[text], "")
    ]


@pytest.mark.parametrize(("one", "other"), [pair for pair in permutations(_BOUNDS, 2) if set(pair) != {"rating", "rated"}])
def test_two_bounds_are_each_as_alone(reader: Reader, one: str, other: str) -> None:
    assert _amiss(reader, _BOUNDS, one, other, _JOINED) == []


@pytest.mark.parametrize(("one", "other"), list(permutations(_BOUNDS_JA, 2)))
def test_two_bounds_are_each_as_alone_in_japanese(reader: Reader, one: str, other: str) -> None:
    assert _amiss(reader, _BOUNDS_JA, one, other, _JOINED_JA) == []


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("over 20 volumes and under 30 volumes", Conditions(volumes=Range(21, 29))),
        ("over 20 and under 30 volumes", Conditions(volumes=Range(21, 29))),
        ("more than 500 but less than 800 yen", Conditions(price=Range(501, 799))),
        ("more than 5, less than 10 volumes", Conditions(volumes=Range(6, 9))),
        ("rated over 4 and under 10 volumes", Conditions(volumes=Range(None, 9), min_rating=4.01)),
        ("max 5 volumes or less than 600 yen", Conditions(volumes=Range(None, 5), price=Range(None, 599))),
        ("up to 5 volumes max 600 yen", Conditions(volumes=Range(None, 5), price=Range(None, 600))),
        ("5 volumes max 600 yen", Conditions(volumes=Range(5, 5), price=Range(None, 600))),
        ("between 3 and 5 volumes and over 500 yen", Conditions(volumes=Range(3, 5), price=Range(501, None))),
        ("3 or 4 volumes", Conditions(volumes=Range(3, 4))),
        ("10巻以内で500円以上", Conditions(volumes=Range(None, 10), price=Range(500, None))),
        ("10巻以上20巻以内", Conditions(volumes=Range(10, 20))),
    ],
)
def test_what_joins_two_numbers(reader: Reader, text: str, conditions: Conditions) -> None:
    assert read(text, reader).conditions == conditions
