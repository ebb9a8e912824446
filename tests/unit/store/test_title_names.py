"""Names of titles: cached where shown, asked for once otherwise, and never the cause of a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.catalog.catalog import TitleNames, TitleReader
from tools.store.failures import TimedOut
from tools.store.models import Title


class Catalogue:
    """Knows every title but those that end in 9, and counts what it was asked for."""

    def __init__(self, *, down: bool = False) -> None:
        self.asked: list[Sequence[str]] = []
        self.down = down

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        self.asked.append(list(title_ids))
        if self.down:
            raise TimedOut("late")
        return {each: Title(each, en=f"Title {each}") for each in title_ids if not each.endswith("9")}


async def named(
    names: TitleNames, catalogue: Any, *title_ids: str, seconds: float = 5, records: Any = None
) -> dict[str, str]:
    titles = TitleReader(catalogue, records or Catalogue(down=True))
    return dict(await names.read_names(title_ids, titles, Deadline.after(seconds)))


async def test_only_unknown_names_are_asked_for_and_once() -> None:
    names, catalogue = TitleNames(), Catalogue()
    names.note("m-1", "One")
    for _ in range(2):
        assert await named(names, catalogue, "m-1", "m-2") == {"m-1": "One", "m-2": "Title m-2"}
    assert catalogue.asked == [["m-2"]]


async def test_failing_catalogue_or_unknown_title_costs_only_its_own_name() -> None:
    names = TitleNames()
    names.note("m-1", "One")
    assert await named(names, Catalogue(down=True), "m-1", "m-2") == {"m-1": "One"}
    assert await named(names, Catalogue(), "m-1", "m-9") == {"m-1": "One"}


async def test_names_come_from_the_store_records_while_the_catalogue_is_away() -> None:
    found = await named(TitleNames(), Catalogue(down=True), "m-1", "m-9", records=Catalogue())
    assert found == {"m-1": "Title m-1"}


async def test_expired_deadline_asks_the_catalogue_for_no_name() -> None:
    catalogue = Catalogue()
    assert await named(TitleNames(), catalogue, "m-1", seconds=-1) == {}
    assert catalogue.asked == []


def test_name_cache_is_bounded_and_evicts_the_least_recently_used() -> None:
    names = TitleNames(capacity=2)
    names.note("m-1", "One")
    names.note("m-2", "Two")
    assert names.recall_names(["m-1"]) == {"m-1": "One"}
    names.note("m-3", "Three")
    assert names.recall_names(["m-1", "m-2", "m-3"]) == {"m-1": "One", "m-3": "Three"}
