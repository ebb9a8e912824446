"""Ids that the catalogue does not have are not asked for again for a while."""

from __future__ import annotations

import pytest

from session.resilience.clocks import utc_now
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tests.support.store import Mood, Moody, Shelf
from tools.store.catalog.catalog import ABSENT_SECONDS, AbsentIds, StoreCatalog
from tools.store.failures import DependencyFailure
from tools.store.models import CatalogQuery, Conditions, ReaderQuery

WRONG, RIGHT = "manga-999999", "manga-000001"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def port(shelf: Shelf) -> Moody:
    return shelf.in_moods().catalog


@pytest.fixture
def sparing(port: Moody, clock: HandClock) -> StoreCatalog:
    return StoreCatalog(port, utc_now, absent=AbsentIds(clock, draw=lambda: 0.0))


def soon() -> Deadline:
    return Deadline.after(5)


def asked(port: Moody) -> list[list[str]]:
    return [list(arguments[0]) for method, arguments in port.asked if method == "get"]


async def test_unknown_id_is_asked_for_once_per_half_minute(sparing: StoreCatalog, port: Moody, clock: HandClock) -> None:
    for _ in range(5):
        assert await sparing.get([WRONG], soon()) == {}
        clock.advance(ABSENT_SECONDS / 5 - 0.01)
    assert asked(port) == [[WRONG]]
    clock.advance(1)
    await sparing.get([WRONG], soon())
    assert asked(port) == [[WRONG], [WRONG]]


async def test_known_absent_ids_are_left_out_of_a_request_and_others_asked_for(sparing: StoreCatalog, port: Moody) -> None:
    for _ in range(2):
        assert set(await sparing.get([RIGHT, WRONG], soon())) == {RIGHT}
    assert asked(port) == [[RIGHT, WRONG], [RIGHT]]


async def test_title_that_a_search_returned_is_no_longer_absent(shelf: Shelf, clock: HandClock) -> None:
    """Any way by which the title is found counts."""
    ways = {
        "search": lambda c: c.search(CatalogQuery("pirates", Conditions(), 5), soon()),
        "popular": lambda c: c.popular(Conditions(), 5, soon()),
        "for_reader": lambda c: c.for_reader(ReaderQuery(5), soon()),
    }
    for way, comes_upon in ways.items():
        port = shelf.in_moods().catalog
        sparing = StoreCatalog(port, utc_now, absent=AbsentIds(clock))
        sparing._absent.add([RIGHT])
        assert await sparing.get([RIGHT], soon()) == {}, way
        await comes_upon(sparing)
        assert set(await sparing.get([RIGHT], soon())) == {RIGHT}, way


async def test_failing_catalogue_marks_no_id_as_absent(sparing: StoreCatalog, port: Moody) -> None:
    port.mood = Mood.FAILS
    with pytest.raises(DependencyFailure):
        await sparing.get([RIGHT], soon())
    port.mood = Mood.WORKS
    assert set(await sparing.get([RIGHT], soon())) == {RIGHT}


async def test_lifetime_of_an_absent_id_is_jittered_downwards(port: Moody, clock: HandClock) -> None:
    early = StoreCatalog(port, utc_now, absent=AbsentIds(clock, draw=lambda: 1.0))
    await early.get([WRONG], soon())
    clock.advance(ABSENT_SECONDS * 0.8 + 0.01)
    await early.get([WRONG], soon())
    assert len(asked(port)) == 2


async def test_absent_ids_are_bounded_and_the_earliest_evicted(port: Moody, clock: HandClock) -> None:
    small = StoreCatalog(port, utc_now, absent=AbsentIds(clock, capacity=2))
    absent = ["manga-999991", "manga-999992", "manga-999993"]
    await small.get(absent, soon())
    await small.get(absent[1:], soon())
    await small.get(absent, soon())
    assert asked(port) == [absent, absent[:1]], "the earliest is forgotten, the others are not"


async def test_repeated_absent_id_is_evicted_last(port: Moody, clock: HandClock) -> None:
    small = StoreCatalog(port, utc_now, absent=AbsentIds(clock, capacity=2))
    for wrong in ("manga-999991", "manga-999992", "manga-999991", "manga-999993", "manga-999991"):
        await small.get([wrong], soon())
    assert asked(port) == [["manga-999991"], ["manga-999992"], ["manga-999993"]]


async def test_health_is_that_of_the_wrapped_catalogue(sparing: StoreCatalog) -> None:
    assert (await sparing.health(soon())).ok
