"""A text to its reading: the subject that is left, what has to hold, and names that state nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import get_ident

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.failures import TimedOut
from tools.store.models import Author, Called, CatalogTerms, Conditions, Range, Status, Title
from tools.store.search.reading import reader as reading
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.claims import claims_of
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

TITLES = (
    Title("t-1", en="No Longer Human", romaji="Ningen Shikkaku", ja="人間失格", tags=("Drama",)),
    Title("t-2", en="20th Century Boys", ja="20世紀少年", tags=("Mystery",), volumes=24),
    Title("t-3", en="Short Program", authors=(Author("Adachi, Mitsuru", "あだち充"),), tags=("Romance",)),
    Title("t-4", en="New Game!", ja="NEW GAME!", tags=("Comedy",)),
    Title("t-5", en="Old Boy", tags=("Action",)),
    Title("t-6", ja="終わりのセラフ", romaji="Owari no Seraph", tags=("Action",)),
    Title("t-7", en="One-Punch Man", tags=("Action", "Comedy")),
    Title("t-8", en="Finished", tags=("Drama",)),
    Title("t-9", en="Short Romance", tags=("Romance",)),
)


def a_reader(catalog: NamedCatalog | None = None) -> Reader:
    return Reader(catalog or NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))


def read(text: str, reader: Reader | None = None) -> Reading:
    return asyncio.run((reader or a_reader()).read(text, Deadline.after(5)))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "No Longer Human",
            "20th Century Boys",
            "20世紀少年",
            "Short Program",
            "New Game!",
            "Old Boy",
            "終わりのセラフ",
            "Finished",
        ),
        *("short program manga", "old boy volume 3", "One-Punch Man 12", "short program by adachi"),
        *("7 Seeds", "86", "One Piece 112", "20世紀少年 3巻"),
    ],
)
def test_a_name_states_nothing(text: str) -> None:
    found = read(text)

    assert found.understood == ()
    assert found.subject == text


@pytest.mark.parametrize(
    ("text", "title_id"),
    [("something like Old Boy", "t-5"), ("「20世紀少年」みたいな漫画", "t-2"), ("books like 20th century boys", "t-2")],
)
def test_a_name_that_is_compared_with_states_nothing_else(text: str, title_id: str) -> None:
    found = read(text)

    assert found.like == found.known == (title_id,)
    assert found.conditions == Conditions(without_titles=(title_id,))


def test_shorter_than_a_title_is_by_its_volumes() -> None:
    found = read("something like 20th Century Boys but shorter")

    assert found.conditions == Conditions(volumes=Range(None, 12), without_titles=("t-2",))
    assert [each.condition for each in found.understood] == ["like 20th century boys", "shorter than it"]


def test_what_is_said_beside_a_name_is_read() -> None:
    found = read("Is 20th Century Boys finished?")

    assert found.conditions == Conditions(statuses=(Status.FINISHED,))
    assert found.subject == "20th century boys"


def test_a_condition_beside_a_theme_is_no_name_though_a_title_is_called_so() -> None:
    found = read("short romance manga that is finished")

    assert found.conditions == Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 5))
    assert found.subject == "romance manga"


def test_several_at_once_in_any_order() -> None:
    expected = Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 9), years=Range(2018, None))

    for text in ("finished horror since 2018, under ten volumes", "under 10 volumes, since 2018: a horror that is finished"):
        assert read(text).conditions == expected, text
    assert read("2018年以降の完結済みのホラー 10巻未満").conditions == expected


def test_nothing_is_left_of_filler() -> None:
    found = read("a good finished manga please")

    assert found.subject == ""
    assert found.vague


def test_a_plain_name_asks_the_catalogue_nothing() -> None:
    catalog = NamedCatalog(TITLES)

    read("Berserk", a_reader(catalog))

    assert catalog.asked == []


def test_the_catalogue_is_asked_once_and_for_no_more_than_it_looks_for() -> None:
    catalog = NamedCatalog(TITLES)

    read(" ".join(f"finished word{i} under {i} volumes" for i in range(1, 13)), a_reader(catalog))

    assert len(catalog.asked) == 1
    assert len(catalog.asked[0]) <= 64


class Away(NamedCatalog):
    """A catalogue that answers nothing in time, and keeps how long it was given."""

    given = float("inf")

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        self.given = min(self.given, deadline.remaining())
        raise TimedOut("late", dependency="catalog")

    async def called(self, names: object, deadline: Deadline) -> dict[str, Called]:
        raise TimedOut("late", dependency="catalog")


def test_without_the_catalogue_the_reading_goes_on() -> None:
    away = Away(())

    found = read("finished horror", a_reader(away))

    assert found.conditions == Conditions(statuses=(Status.FINISHED,))
    assert away.given <= 0.15


@pytest.mark.parametrize("text", ["romance not by Mitsuru Adachi", "あだち充以外の恋愛漫画"])
def test_an_author_is_excluded_in_either_order_of_the_name(text: str) -> None:
    found = read(text)

    assert found.conditions.stated == ("without_authors",)
    assert found.subject in ("romance", "恋愛漫画")


def test_a_name_that_goes_on_after_an_exclusion_is_what_it_excludes() -> None:
    found = read(
        "a mystery without horror house",
        a_reader(NamedCatalog((*TITLES, Title("t-10", en="Horror House", tags=("Horror",))))),
    )

    assert found.conditions == Conditions(without_titles=("t-10",))
    assert found.subject == "a mystery"


def test_a_long_text_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is, everybody else is served; the same text is not read a second time for a fallback."""
    reader, threads = a_reader(), list[int]()

    def noted(text: str, finders: Sequence[Find]) -> tuple[Claim, ...]:
        threads.append(get_ident())
        return claims_of(text, finders)

    async def each(*texts: str) -> list[Reading]:
        return [await reader.read(text, Deadline.after(30)) for text in texts]

    monkeypatch.setattr(reading, "claims_of", noted)
    long = "without horror and " * 26
    short, first, again = asyncio.run(each("no horror", long, long))
    assert [thread == get_ident() for thread in threads] == [True, False]
    assert (short.conditions.without_tags, first) == (first.conditions.without_tags, again)
