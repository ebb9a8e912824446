"""Completions of a typed text: likeliest first, in any script, and with few lookups."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from session.resilience.deadline import Deadline
from tests.support.pipeline import Kit, Opener
from tests.support.store import RECORDS, Mood
from tools.contract import ToolContext
from tools.primitives.completions import SPELLED, complete_author, complete_genre, complete_tag, complete_title
from tools.primitives.resource import Completer
from tools.store.identifiers import GENRES
from tools.store.models import Title

pytestmark = pytest.mark.virtual_time


async def proposed(kit: Kit, complete: Completer, typed: str) -> Sequence[str]:
    context = ToolContext(kit.store, None, Deadline.after(0.3, kit.clock))
    return await complete(context, typed, {})


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", [str(record["title"]["en"]) for record in RECORDS]),  # type: ignore[index]
        ("PIR", ["Pirate Sea"]),
        ("海賊", ["海賊の海"]),
        ("ｒｏｂｏ", ["Robot Cat"]),
        ("猫型ろ", ["猫型ロボ"]),
        ("hunter", ["Monster Hunter Doctor"]),
        ("mystery", []),
        ("  ", [str(record["title"]["en"]) for record in RECORDS]),  # type: ignore[index]
    ],
)
async def test_titles_are_completed_by_a_name_prefix_in_any_script(typed: str, expected: list[str], kit: Kit) -> None:
    """A title is not completed by its themes."""
    assert await proposed(kit, complete_title, typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("ura", ["Nao Urasawa"]), ("nao u", ["Nao Urasawa"]), ("Oda, E", ["Eiji Oda"]), ("eij", ["Eiji Oda"]), ("zzz", [])],
)
async def test_authors_are_completed_by_family_or_given_name(typed: str, expected: list[str], kit: Kit) -> None:
    assert await proposed(kit, complete_author, typed) == expected


async def test_missing_completions_are_searched_for_after_enough_letters(opener: Opener) -> None:
    kit: Kit = await opener(warm=False)
    assert await proposed(kit, complete_title, "Pi") == []
    assert kit.calls_of("search") == 0
    assert await proposed(kit, complete_title, "Pirat") == ["Pirate Sea"]
    assert await proposed(kit, complete_author, "Urasawa") == ["Nao Urasawa"]
    kit.backends.catalog.mood = Mood.FAILS
    for complete in (complete_title, complete_author, complete_tag):
        assert await proposed(kit, complete, "Monster") == []


async def test_tags_are_completed_by_a_word_prefix_with_frequent_ones_first(kit: Kit) -> None:
    tags = await proposed(kit, complete_tag, "")
    assert set(tags) == {tag for record in RECORDS for tag in record["tags"]}  # type: ignore[attr-defined]
    assert await proposed(kit, complete_tag, "daily") == await proposed(kit, complete_tag, "life") == ["Daily Life"]
    assert await proposed(kit, complete_tag, "aily") == []


async def test_genres_are_completed_in_any_spelling(kit: Kit) -> None:
    assert set(SPELLED) == set(GENRES)
    assert await proposed(kit, complete_genre, "") == list(GENRES)
    for genre, spellings in SPELLED.items():
        for typed in (genre.upper(), *spellings):
            assert await proposed(kit, complete_genre, typed) == [genre], typed


@pytest.mark.parametrize(("adult", "expected"), [("on-request", []), ("off", []), ("on", ["Silk Rooms"])])
async def test_adult_titles_are_completed_only_where_adult_titles_are_on(
    adult: str, expected: list[str], opener: Opener
) -> None:
    """A few letters are no request for adult titles."""
    kit: Kit = await opener(adult=adult, warm=False)
    await kit.store.popular._take((Title("manga-000007", en="Silk Rooms", genre="seinen", tags=("Erotica",)),))
    assert await proposed(kit, complete_title, "silk") == expected


async def test_text_longer_than_any_name_is_not_searched_for(opener: Opener) -> None:
    kit: Kit = await opener(warm=False)
    for typed in ("Pirate " * 280, "海賊の海" * 500):
        assert await proposed(kit, complete_title, typed) == []
    assert kit.calls_of("search") == 0
