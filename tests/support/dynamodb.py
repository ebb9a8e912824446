"""A real DynamoDB Local for a test run, and tables of one's own in it."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infra.seed.store import create_tables, write_all
from tests.stack import dynamodb
from tools.store.backends.dynamodb.items import order_item, stock_item
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import ORDERS, STOCK, DynamoAddress


@pytest.fixture(scope="session")
def dynamodb_url() -> Iterator[str]:
    """The endpoint; a machine that cannot run one skips what needs it, and CI may not."""
    problem = dynamodb.missing()
    if problem is None:
        with dynamodb.dynamodb_local() as url:
            yield url
    elif os.environ.get("CI") == "true":
        pytest.fail(f"DynamoDB Local is a must in CI: {problem}")
    else:
        pytest.skip(problem)


@pytest.fixture
def dynamodb_address(dynamodb_url: str) -> DynamoAddress:
    """Empty tables that nobody else uses."""
    return made_in(dynamodb_url)


@pytest.fixture(scope="session")
def dynamodb_shop(dynamodb_url: str, shop: Any) -> DynamoAddress:
    """Tables that hold the whole shop. They are only read, so that one filling serves every test."""
    address = made_in(dynamodb_url)
    stock = [stock_item(of, offers, shop.volumes.get(of, ())) for of, offers in shop.offers.items()]
    _in_a_loop_of_its_own(_fill(address, stock, [order_item(owner, order) for owner, order in shop.orders]))
    return address


def made_in(url: str) -> DynamoAddress:
    """New tables, under a prefix of their own."""
    address = DynamoAddress.parse(f"dynamodb://{dynamodb.REGION}?endpoint={url}&table_prefix=t{uuid.uuid4().hex[:8]}-")
    create_tables(address)
    return address


async def _fill(address: DynamoAddress, stock: list[Any], orders: list[Any]) -> None:
    async with DynamoStore.open(address, in_bulk=True) as store:
        await write_all(store.connection, STOCK, stock)
        await write_all(store.connection, ORDERS, orders)


def _in_a_loop_of_its_own(work: Coroutine[Any, Any, None]) -> None:
    """A fixture for the whole run belongs to no test's loop, and may be asked for from within one."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        threads.submit(asyncio.run, work).result()
