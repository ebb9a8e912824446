"""Names of the demo catalogue are names, though many have words that state something elsewhere; asked of the real catalogue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.catalogs import CATALOG
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.records.catalog_file import load
from tools.store.search.reading.reader import Reader
from tools.store.search.titles.names import names_of


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for title, _ in load(CATALOG) for name in names_of(title)))


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    async with EmbeddedCatalog.open(CATALOG, None) as catalog:
        yield Reader(catalog, lambda: datetime(2026, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize("asking", ["{} manga", "{} 3巻", "「{}」"])
async def test_a_name_states_nothing(asking: str, names: tuple[str, ...], reader: Reader) -> None:
    misread = [name for name in names if (await reader.read(asking.format(name), Deadline.after(30))).understood]

    assert misread == []


@pytest.mark.parametrize(("asking", "says"), [("{} finished", "finished"), ("is {} still running", "still running")])
async def test_beside_a_name_one_thing_is_stated(asking: str, says: str, names: tuple[str, ...], reader: Reader) -> None:
    readings = {name: await reader.read(asking.format(name), Deadline.after(30)) for name in names}

    assert {name for name, found in readings.items() if [each.condition for each in found.understood] != [says]} == set()
