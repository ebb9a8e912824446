"""Titles by id as tools read them: from the catalogue, and from the store's records while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.catalog.catalog import TitleReader, TitleReading
from tools.store.failures import BackendFailure, DependencyFailure, TimedOut
from tools.store.models import Title

A, B = Title("a", en="A"), Title("b", en="B")
OLD = Title("a", en="A of the record")
NOBODY = object()
DOWN = DependencyFailure("down", dependency="it")


@dataclass(slots=True)
class Port:
    """Answers with what it holds, raises it, or hangs; `open` lets a hanging one go on."""

    holds: Any
    asked: int = 0
    cancelled: int = 0
    open: asyncio.Event | None = None
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    def let_go(self) -> None:
        assert self.open is not None
        self.open.set()

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        self.asked += 1
        self.seen.set()
        try:
            if self.open is not None:
                async with asyncio.timeout(deadline.remaining()):
                    await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        except TimeoutError:
            raise TimedOut("late", dependency="it") from None
        if isinstance(self.holds, Exception):
            raise self.holds
        return {title.title_id: title for title in self.holds if title.title_id in title_ids}


def hanging(holds: Any = ()) -> Port:
    return Port(holds, open=asyncio.Event())


async def read(catalog: Port, records: Port, seconds: float = 0.3) -> tuple[dict[str, Title], bool]:
    before = asyncio.all_tasks()
    reading = await TitleReader(catalog, records).read(["a", "b"], Deadline.after(seconds))  # type: ignore[arg-type]
    assert asyncio.all_tasks() == before, "nothing is left under way"
    return reading.titles, reading.from_records


async def test_healthy_catalogue_is_asked_once_and_records_are_not() -> None:
    catalog, records = Port([A, B]), Port([OLD])
    assert await read(catalog, records) == ({"a": A, "b": B}, False)
    assert (catalog.asked, records.asked) == (1, 0)


async def test_title_missing_from_the_catalogue_is_not_taken_from_the_records() -> None:
    """A title removed from the catalogue stays among the records until they are written anew."""
    catalog, records = Port([]), Port([OLD])
    assert await read(catalog, records) == ({}, False)
    assert records.asked == 0


async def test_failing_catalogue_is_replaced_by_the_records_at_once() -> None:
    catalog, records = Port(DOWN), Port([OLD])
    assert await read(catalog, records, seconds=3600) == ({"a": OLD}, True)


async def test_hanging_catalogue_is_replaced_by_the_records_and_cancelled() -> None:
    """The records are asked after a part of the time, and answer before the rest of it is over."""
    catalog, records = hanging(), Port([OLD])
    assert await read(catalog, records) == ({"a": OLD}, True)
    assert (catalog.asked, catalog.cancelled) == (1, 1)


async def test_catalogue_that_answers_before_the_records_is_used() -> None:
    catalog, records = hanging([A]), hanging([OLD])
    asked = asyncio.create_task(TitleReader(catalog, records).read(["a"], Deadline.after(3)))  # type: ignore[arg-type]
    await records.seen.wait()
    catalog.let_go()
    assert await asked == TitleReading({"a": A})
    assert (catalog.cancelled, records.cancelled) == (0, 1)


@cases("records", [Port([]), Port(DOWN)], ids=["know nothing", "fail"])
async def test_empty_records_do_not_replace_the_failure_of_the_catalogue(records: Port) -> None:
    """The records may not be loaded yet: the catalogue's failure, or its late answer, is returned."""
    failure = DependencyFailure("the catalogue", dependency="catalog")
    with pytest.raises(DependencyFailure) as caught:
        await read(Port(failure), records)
    assert caught.value is failure
    late, again = hanging([A]), Port(records.holds)
    reading = asyncio.create_task(TitleReader(late, again).read(["a"], Deadline.after(3)))  # type: ignore[arg-type]
    await again.seen.wait()
    late.let_go()
    assert await reading == TitleReading({"a": A})


async def test_read_of_two_hanging_backends_ends_by_the_deadline() -> None:
    with pytest.raises(BackendFailure):
        await read(hanging(), hanging())


async def test_cancelled_read_cancels_both_backends() -> None:
    catalog, records = hanging(), hanging()
    before = asyncio.all_tasks()
    asked = asyncio.create_task(TitleReader(catalog, records).read(["a"], Deadline.after(3)))  # type: ignore[arg-type]
    await records.seen.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert (catalog.cancelled, records.cancelled, asyncio.all_tasks()) == (1, 1, before)


@cases("broken", ["catalog", "records"])
async def test_unexpected_error_is_raised_unchanged(broken: str) -> None:
    error = KeyError("a bug")
    ports = {"catalog": Port(DOWN), "records": Port([OLD])} | {broken: Port(error)}
    with pytest.raises(KeyError) as caught:
        await read(ports["catalog"], ports["records"])
    assert caught.value is error
