"""A title that was not liked, and a wish for something else: it is no answer, and both are no subject."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.models import Title
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

TITLES = (
    Title("naruto", en="Naruto", ja="NARUTO -ナルト-", tags=("Ninja", "Horror", "Gore")),
    Title("berserk", en="Berserk", ja="ベルセルク", tags=("Fantasy",)),
    Title("op", en="One Piece", ja="ワンピース", tags=("Adventure",)),
    Title("bleach", en="Bleach", tags=("Action",)),
)


def read(text: str) -> Reading:
    reader = Reader(NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    return asyncio.run(reader.read(text, Deadline.after(5)))


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        *(("I hated Naruto, what else", {"naruto"}), ("didn't like Berserk, something else", {"berserk"})),
        *(("I really didn't enjoy One Piece. Anything else?", {"op"}), ("something else, i hated naruto", {"naruto"})),
        *(
            ("hated naruto and bleach, what else do you have", {"naruto", "bleach"}),
            ("naruto? hated it. what else?", {"naruto"}),
        ),
        *(
            ("naruto wasn't for me, anything different?", {"naruto"}),
            ("couldn't finish berserk, another please", {"berserk"}),
        ),
        *(("naruto was boring, what should i read instead?", {"naruto"}), ("hated Naruto's ending, what else", {"naruto"})),
        *(
            ("i hated naruto because it was too long, what else?", {"naruto"}),
            ("my friend hated berserk, other ideas?", {"berserk"}),
        ),
        *(
            ("i read naruto but didn't like it, what else?", {"naruto"}),
            ("I dropped Naruto at volume 20, what else", {"naruto"}),
        ),
        *(("ナルトは嫌いだった、他には？", {"naruto"}), ("ナルトが好きじゃなかった。別のは？", {"naruto"})),
        *(("ワンピースは面白くなかった。他に何かありますか", {"op"}), ("ナルト苦手なんだけど、違うのがいい", {"naruto"})),
        *(("ナルトの絵が嫌い。他には？", {"naruto"}), ("ナルトは長すぎて合わなかった、他のおすすめを教えて", {"naruto"})),
        *(("ワンピースとナルトは嫌い、他には？", {"op", "naruto"}),),
    ],
)
def test_what_was_not_liked_is_left_out_and_nothing_is_searched_for(text: str, titles: set[str]) -> None:
    found = read(text)

    assert set(found.conditions.without_titles) == titles
    assert found.subject == ""
    assert found.like == ()
    assert found.understood[-1].condition.startswith(("without ", "not "))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("my son hated naruto, something else with ninjas", "ninjas"),
        ("i couldn't get into naruto, other dark fantasy manga", "dark fantasy manga"),
        ("ナルトはつまらなかった、別のバトル漫画", "バトル漫画"),
    ],
)
def test_what_else_is_wished_for_is_the_subject(text: str, subject: str) -> None:
    found = read(text)

    assert (found.subject, found.conditions.without_titles) == (subject, ("naruto",))


@pytest.mark.parametrize(
    "text", ["i hated naruto but loved bleach, what else?", "not a fan of naruto, something like bleach"]
)
def test_the_one_that_was_liked_is_compared_with(text: str) -> None:
    found = read(text)

    assert found.like == ("bleach",)
    assert set(found.conditions.without_titles) == {"naruto", "bleach"}


@pytest.mark.parametrize(
    "text",
    [
        "i didn't hate naruto, what else",
        "ナルトは嫌いじゃなかった、他には？",
        "about a boy who hated naruto, something else",
        "what else",
    ],
)
def test_what_is_not_said_to_be_disliked_stays(text: str) -> None:
    assert read(text).conditions.without_titles == ()


def test_a_theme_that_was_not_liked_is_ruled_out() -> None:
    assert "Horror" in read("my son hated horror, what else").conditions.without_tags
