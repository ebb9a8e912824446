"""Inexact names find their title: nicknames, typos and katakana."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.failures import TimedOut
from tools.store.models import NameMatches, Title
from tools.store.search.reading.names import fits
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

TITLES = (
    Title("t-1", en="Attack on Titan", romaji="Shingeki no Kyojin", ja="進撃の巨人", tags=("Action",), volumes=34),
    Title("t-2", en="Slam Dunk", ja="SLAM DUNK", tags=("Sports",), volumes=31),
    Title("t-3", en="Vinland Saga", tags=("Action",), volumes=20),
    Title("t-4", en="One Piece", ja="ONE PIECE", tags=("Adventure",)),
    Title("t-5", en="Horror Collector", tags=("Horror",)),
)


class Silent(NamedCatalog):
    """Knows its words, and does not say what goes by a name."""

    async def match_names(self, names: object, deadline: Deadline) -> dict[str, NameMatches]:
        raise TimedOut("late", dependency="catalog")


def read(text: str, catalog: NamedCatalog | None = None) -> Reading:
    reader = Reader(catalog or NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    return asyncio.run(reader.read(text, Deadline.after(5)))


@pytest.mark.parametrize(
    ("name", "title"),
    [("snk", 0), ("attack on titen", 0), ("スラムダンク", 1), ("vinland", 2), ("ワンピース", 3), ("ワンピ", 3)],
)
def test_title_is_matched_by_nickname_typo_or_katakana(name: str, title: int) -> None:
    assert fits(name, TITLES[title])


@pytest.mark.parametrize(
    ("name", "title"), [("the office", 0), ("slam", 1), ("saga", 2), ("ワイン", 3), ("horor", 4), ("", 0)]
)
def test_title_is_not_matched_by_an_unrelated_or_partial_name(name: str, title: int) -> None:
    assert not fits(name, TITLES[title])


@pytest.mark.parametrize(
    ("text", "title_id"),
    [
        ("something like snk", "t-1"),
        ("スラムダンクっぽい漫画", "t-2"),
        ("ワンピースは好きだけど", "t-4"),
        ("something like slam drunk", "t-2"),
    ],
)
def test_title_compared_with_by_an_inexact_name_is_found(text: str, title_id: str) -> None:
    assert read(text).like == (title_id,)


def test_title_excluded_by_an_inexact_name_is_left_out() -> None:
    assert read("adventure except ワンピース").conditions.without_titles == ("t-4",)
    assert read("slam drunk is boring").conditions.without_titles == ("t-2",)


def test_comparison_with_no_known_title_sets_no_condition() -> None:
    assert read("something like the office").like == ()


def test_exclusion_that_could_not_be_looked_up_is_reported_and_not_obeyed() -> None:
    found = read("adventure except one piece", Silent(TITLES))

    assert found.unnamed
    assert [(each.words, each.obeyed) for each in found.understood] == [("except one piece", False), ("adventure", True)]
    assert found.subject == "adventure"


def test_comparison_that_could_not_be_looked_up_stays_in_the_search_words() -> None:
    found = read("finished, something like one piece", Silent(TITLES))

    assert found.unnamed
    assert "like one piece" in found.subject
