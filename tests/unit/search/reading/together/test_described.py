"""What a description ends with is wanted, and only what follows it is ruled out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.models import Title
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

TITLES = (Title("t-1", en="Whatever", tags=("Horror", "Gore", "Ecchi", "Suspense", "Mystery", "Romance")),)


def read(text: str) -> Reading:
    reader = Reader(NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    return asyncio.run(reader.read(text, Deadline.after(5)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("完結済みで3巻以内のホラー、グロなし", "ホラー"),
        ("3巻以内のホラー グロなし", "ホラー"),
        ("完結したホラー漫画、グロなし", "ホラー"),
        ("短編ホラー、グロ抜きで", "ホラー"),
        ("怖いホラー、グロなし", "ホラー"),
        ("学園ホラー、グロなし", "ホラー"),
        ("学校が舞台のサスペンス、流血、グロなし", "サスペンス"),
        ("short horror, no gore", "horror"),
        ("short horror, gore-free", "horror"),
        ("a finished horror, gore is a no-go", "horror"),
        ("looking for horror, gore not ok", "horror"),
        ("give me a short thriller, gore excluded", "thriller"),
    ],
)
def test_what_a_description_ends_with_is_wanted(text: str, wanted: str) -> None:
    found = read(text)

    assert wanted in found.subject
    assert found.conditions.without_tags == ("Gore",)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        *(("ホラー、グロなし", {"Horror"}), ("極端なホラー、グロなし", {"Horror"}), ("苦手なホラー、グロなし", {"Horror"})),
        *(("露骨なエロ、グロなし", {"Ecchi"}), ("怖いホラー、グロは苦手", {"Horror"})),
        *(("horror, gore not ok", {"Horror"}), ("i find horror, gore upsetting", {"Horror"})),
        *(("for her horror, gore are a no-go", {"Horror"}), ("a short mystery, horror, gore not ok", {"Horror"})),
        ("完結済みのミステリー、ホラー、グロなし", {"Horror"}),
    ],
)
def test_a_list_is_ruled_out_as_a_whole(text: str, tags: set[str]) -> None:
    assert set(read(text).conditions.without_tags) == {*tags, "Gore"}
