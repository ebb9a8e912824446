"""What every store does with the records of titles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from infra.seed.store import client, write_all
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.dynamodb import made_in
from tools.store.backends.dynamodb.items import popular_item, title_item
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import TITLES, DynamoAddress
from tools.store.backends.embedded.stock_and_orders import EmbeddedTitles
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.models import Ordering, Title
from tools.store.ports import TitlesPort
from tools.store.search.ranking.candidates import in_order

ODD_IDS = ["", " ", "manga-999999", "x" * 3_000, "\ud800", "manga-001001\n", "😀", "*"]


@pytest.fixture(params=["embedded", "dynamodb"])
async def port(request: pytest.FixtureRequest, titles: Sequence[Title]) -> AsyncIterator[TitlesPort]:
    opened = _embedded(titles) if request.param == "embedded" else _dynamodb(request, titles)
    async with opened as here:
        yield here


@asynccontextmanager
async def _embedded(titles: Sequence[Title]) -> AsyncIterator[TitlesPort]:
    yield EmbeddedTitles(titles)


def _dynamodb(request: pytest.FixtureRequest, titles: Sequence[Title]) -> AbstractAsyncContextManager[TitlesPort]:
    return _filled(made_in(request.getfixturevalue("dynamodb_url")), titles)


@asynccontextmanager
async def _filled(address: DynamoAddress, titles: Sequence[Title]) -> AsyncIterator[TitlesPort]:
    async with DynamoStore.open(address, in_bulk=True) as store:
        assert await store.titles.popular(5, Deadline.after(30)) == (), "a load of an older version wrote no list"
        await write_all(store.connection, TITLES, (*map(title_item, titles), popular_item(titles)))
        yield store.titles


async def test_every_title_of_the_catalogue_is_returned_with_all_fields(
    port: TitlesPort, titles: Sequence[Title], soon: Deadline
) -> None:
    """261 titles need more than one request in any store; each is as it was loaded."""
    assert await port.get([title.title_id for title in titles], soon) == {title.title_id: title for title in titles}


async def test_single_title_is_returned(port: TitlesPort, titles: Sequence[Title], soon: Deadline) -> None:
    assert await port.get([titles[7].title_id], soon) == {titles[7].title_id: titles[7]}


@cases("title_id", ODD_IDS, ids=lambda title_id: ascii(title_id)[:25])
async def test_unknown_id_is_absent_from_the_result(
    port: TitlesPort, titles: Sequence[Title], soon: Deadline, title_id: str
) -> None:
    known = titles[0].title_id
    assert set(await port.get([title_id, known, known], soon)) == {known}
    assert await port.get([title_id], soon) == {}


async def test_most_popular_titles_come_first_up_to_the_limit(
    port: TitlesPort, titles: Sequence[Title], soon: Deadline
) -> None:
    best = in_order(titles, Ordering.POPULARITY)
    assert await port.popular(5, soon) == best[:5]
    assert await port.popular(500, soon) == best


async def test_no_ids_return_no_titles(port: TitlesPort, soon: Deadline) -> None:
    assert await port.get([], soon) == {}


async def test_expired_deadline_times_out_with_the_dependency_titles(port: TitlesPort) -> None:
    with pytest.raises(TimedOut) as caught:
        await port.get(["manga-001001"], Deadline.after(-1))
    assert caught.value.dependency == "titles"


async def test_concurrent_readers_get_the_same_answer(port: TitlesPort, titles: Sequence[Title], soon: Deadline) -> None:
    wanted = [title.title_id for title in titles[:20]]
    answers = await asyncio.gather(*(port.get(wanted, soon) for _ in range(20)))
    assert all(answer == answers[0] for answer in answers)


async def test_health_of_a_working_store_is_ok(port: TitlesPort, soon: Deadline) -> None:
    assert (await port.health(soon)).ok


async def test_missing_titles_table_fails_titles_only(dynamodb_address: DynamoAddress, soon: Deadline) -> None:
    """During a deployment the table is missing until the next load."""
    driver = client(dynamodb_address)
    driver.delete_table(TableName=TITLES.full_name(dynamodb_address.prefix))
    async with DynamoStore.open(dynamodb_address) as store:
        with pytest.raises(DependencyFailure, match="The table of the titles is not there"):
            await store.titles.get(["manga-001001"], soon)
        assert [(await part.health(soon)).ok for part in (store.titles, store.stock, store.orders)] == [False, True, True]


async def test_record_of_a_later_version_is_read_and_a_malformed_one_fails_its_own_title(
    dynamodb_address: DynamoAddress, titles: Sequence[Title], soon: Deadline
) -> None:
    """A newer writer and an older server run side by side during every deployment."""
    one, two, three = titles[:3]
    later = title_item(one)
    later["record"]["S"] = later["record"]["S"].replace('{"title_id"', '{"mood":"dark","title_id"', 1)
    later["loaded_by"] = {"S": "the next version"}
    wrong = title_item(two) | {"record": {"S": '{"title": 7}'}}
    other = title_item(replace(three, title_id=three.title_id)) | {"record": title_item(one)["record"]}
    async with DynamoStore.open(dynamodb_address, in_bulk=True) as store:
        await write_all(store.connection, TITLES, [later, wrong, other])
        assert await store.titles.get([one.title_id, two.title_id, three.title_id], soon) == {one.title_id: one}
        with pytest.raises(DependencyFailure, match="cannot be read"):
            await store.titles.get([two.title_id], soon)
