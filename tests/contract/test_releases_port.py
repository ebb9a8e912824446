"""What every ReleasesPort does, in each implementation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from infra.seed.store import write_all
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.backends.dynamodb import store as in_dynamodb
from tools.store.backends.dynamodb.items import release_item
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import RELEASES, DynamoAddress
from tools.store.backends.embedded import stock_and_orders as in_process
from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases
from tools.store.failures import TimedOut
from tools.store.models import Release
from tools.store.ports import ReleasesPort

MONTH = (
    Release("manga-000009", 3, "physical", "2026-11-04", popularity_rank=2),
    Release("manga-000001", 12, "physical", "2026-11-04", popularity_rank=10),
    Release("manga-000002", 1, "digital", "2026-11-04"),
    Release("manga-000002", 1, "physical", "2026-11-04"),
    Release("manga-000002", 2, "physical", "2026-11-04"),
    Release("manga-000003", 7, "physical", "2026-11-30", popularity_rank=1, adult=True),
)
"""In the order in which they are told."""
OTHERS = (
    Release("manga-000009", 4, "physical", "2026-12-01", popularity_rank=2),
    Release("manga-000009", 2, "physical", "2026-10-31", popularity_rank=2),
)


@pytest.fixture(params=["embedded", "dynamodb"])
async def releases_port(request: pytest.FixtureRequest) -> AsyncIterator[ReleasesPort]:
    everything = (*OTHERS, *reversed(MONTH))
    if request.param == "embedded":
        yield EmbeddedReleases(everything)
        return
    async with DynamoStore.open(request.getfixturevalue("dynamodb_address"), in_bulk=True) as store:
        await write_all(store.connection, RELEASES, [release_item(each) for each in everything])
        yield store.releases


async def test_releases_of_a_month_are_sorted_by_day_then_popularity(releases_port: ReleasesPort, soon: Deadline) -> None:
    assert await releases_port.of_month("2026-11", soon) == MONTH


@cases("month", ["2027-01", "2026-1", "2026-11-04", "2026", "%", "進撃"])
async def test_other_month_has_none_of_the_releases(releases_port: ReleasesPort, soon: Deadline, month: str) -> None:
    assert await releases_port.of_month(month, soon) == ()


async def test_earliest_releases_of_a_too_long_month_are_returned(
    releases_port: ReleasesPort, soon: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB's pages hold two releases here."""
    monkeypatch.setattr(in_dynamodb, "MOST_RELEASES", 5)
    monkeypatch.setattr(in_dynamodb, "_PAGE", 2)
    monkeypatch.setattr(in_process, "MOST_RELEASES", 5)
    port = EmbeddedReleases(MONTH) if isinstance(releases_port, EmbeddedReleases) else releases_port
    assert await port.of_month("2026-11", soon) == MONTH[:5]


async def test_expired_deadline_raises_timed_out(releases_port: ReleasesPort) -> None:
    with pytest.raises(TimedOut):
        await releases_port.of_month("2026-11", Deadline.after(0))


async def test_health_of_working_releases_is_ok(releases_port: ReleasesPort, soon: Deadline) -> None:
    assert (await releases_port.health(soon)).ok


async def test_postponed_release_is_removed_from_its_old_month(dynamodb_address: DynamoAddress, soon: Deadline) -> None:
    """The next seed overwrites the same item."""
    put_off = replace(MONTH[0], date="2026-12-24")
    async with DynamoStore.open(dynamodb_address, in_bulk=True) as store:
        for each in (MONTH[0], put_off):
            await write_all(store.connection, RELEASES, [release_item(each)])
        assert await store.releases.of_month("2026-11", soon) == ()
        assert await store.releases.of_month("2026-12", soon) == (put_off,)
