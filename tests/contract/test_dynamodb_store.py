"""What only a real DynamoDB shows: pages beyond 16 MB, concurrent writers, missing tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.seed.store import client, create_tables, describe_tables, write_all
from session.profile import Event, EventKind
from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.items import event_item, order_item, owner_key, stock_item
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import (
    BILLING_MODE,
    ORDERS,
    PROFILE,
    RELEASES,
    STOCK,
    TABLES,
    TITLES,
    DynamoAddress,
)
from tools.store.failures import DependencyFailure
from tools.store.models import Offer, Order, OrderLine, VolumeStock

VOLUMES = [VolumeStock(n, None, "physical", 550, 5, restock_date="2026-12-01") for n in range(1, 111)]
LINE = OrderLine("manga-000001", "One", 1, None, "physical", 1, 500)
ORDER = Order("MNG-AAAA0001", "paid", "2026-10-01T00:00:00Z", (LINE,), 500, 0, 500, "Tokyo")


@pytest.fixture
async def store(dynamodb_address: DynamoAddress) -> AsyncIterator[DynamoStore]:
    async with DynamoStore.open(dynamodb_address, in_bulk=True) as opened:
        yield opened


async def test_hundred_large_titles_are_read_whole_beyond_one_page(store: DynamoStore) -> None:
    """Each item has 200 kB of a foreign attribute, so DynamoDB returns a part and names the other keys."""
    ids = [f"manga-{n:06}" for n in range(100)]
    ballast = {"S": "x" * 200_000}
    items = [stock_item(i, [Offer("digital", 400, None)], VOLUMES) | {"ballast": ballast} for i in ids]
    for start in range(0, len(items), 4):  # one request of 5 MB is more than aiohttp sends without a warning
        await write_all(store.connection, STOCK, items[start : start + 4])
    asked = {
        "RequestItems": {STOCK.full_name(store.connection.address.prefix): {"Keys": [{"title_id": {"S": i}} for i in ids]}}
    }
    alone = await store.connection.call("batch_get_item", **asked)
    assert alone["UnprocessedKeys"], "the page has to be too big, or this test shows nothing"

    page = await store.stock.availability(ids, Deadline.after(30))
    assert page.unanswered == ()
    assert set(page.rows) == set(ids)
    for row in page.rows.values():
        assert row.volumes == tuple(VOLUMES)
        assert row.offers == (Offer("physical", 550, 550), Offer("digital", 400, None))


async def test_concurrent_conditional_updates_lose_no_copy(store: DynamoStore, soon: Deadline) -> None:
    """The update is that of `items`: one volume's copies, on the condition that any are left."""
    table = STOCK.full_name(store.connection.address.prefix)
    await write_all(store.connection, STOCK, [stock_item("manga-000001", [], VOLUMES[:3])])

    async def sell_one(number: int) -> bool:
        names = {"#format": "physical", "#number": str(number)}
        copies = "volumes.#format.#number.stock"
        try:
            await store.connection.call(
                "update_item",
                TableName=table,
                Key={"title_id": {"S": "manga-000001"}},
                UpdateExpression=f"SET {copies} = {copies} - :one",
                ConditionExpression=f"{copies} >= :one",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    sold = await asyncio.gather(*(sell_one(number) for number in (1, 2) for _ in range(8)))
    assert sum(sold) == 10
    row = (await store.stock.availability(["manga-000001"], soon)).rows["manga-000001"]
    assert [volume.stock for volume in row.volumes] == [0, 0, 5]


async def test_bulk_write_is_idempotent_and_resumable(store: DynamoStore, soon: Deadline) -> None:
    items = [stock_item(f"manga-{n:06}", [Offer("physical", 500, n)], []) for n in range(450)]

    class Broken(Exception):
        pass

    told: list[int] = []

    def stop_after_the_first(written: int) -> None:
        told.append(written)
        raise Broken

    with pytest.raises(Broken):
        await write_all(store.connection, STOCK, items, progress=stop_after_the_first)
    assert 0 < told[0] < 450
    assert await write_all(store.connection, STOCK, items) == 450
    page = await store.stock.availability([f"manga-{n:06}" for n in range(450)], soon)
    assert {title_id: row.offers[0].stock for title_id, row in page.rows.items()} == {f"manga-{n:06}": n for n in range(450)}


async def test_guessed_owner_reads_no_order_of_another(store: DynamoStore, soon: Deadline) -> None:
    """Neither the order's id nor the name of the owner's key opens another owner's orders."""
    await write_all(store.connection, ORDERS, [order_item("victim", ORDER)])
    guesses = [
        "",
        "Victim",
        "victim ",
        owner_key("victim"),
        f"victim#{ORDER.order_id}",
        "\ud800",
        "anonymous",
        "*",
        ":owner",
    ]
    for guess in guesses:
        assert await store.orders.order(guess, ORDER.order_id, soon) is None
        assert await store.orders.purchased(guess, soon) == ()
    assert await store.orders.order("victim", ORDER.order_id, soon) == ORDER


async def test_one_order_id_of_two_owners_is_two_orders(store: DynamoStore, soon: Deadline) -> None:
    theirs = replace(ORDER, prefecture="Osaka")
    await write_all(store.connection, ORDERS, [order_item("one", ORDER), order_item("other", theirs)])
    assert await store.orders.order("one", ORDER.order_id, soon) == ORDER
    assert await store.orders.order("other", ORDER.order_id, soon) == theirs


async def test_order_status_changed_by_the_shop_is_read_at_once(store: DynamoStore, soon: Deadline) -> None:
    """One attribute decides both the order's status and whether it counts as bought."""
    await write_all(store.connection, ORDERS, [order_item("reader", ORDER)])
    assert await store.orders.purchased("reader", soon) == ("manga-000001",)
    await store.connection.call(
        "update_item",
        TableName=ORDERS.full_name(store.connection.address.prefix),
        Key={"owner": {"S": owner_key("reader")}, "order_id": {"S": ORDER.order_id}},
        UpdateExpression="SET #s = :s",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "cancelled"}},
    )
    assert await store.orders.order("reader", ORDER.order_id, soon) == replace(ORDER, status="cancelled")
    assert await store.orders.purchased("reader", soon) == ()


async def test_purchases_are_taken_from_the_latest_orders(
    store: DynamoStore, soon: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.store.backends.dynamodb.store.PURCHASES_READ", 2)
    orders = [
        replace(
            ORDER,
            order_id=f"MNG-AAAA000{9 - day}",
            ordered_at=f"2026-10-0{day}T00:00:00Z",
            lines=(replace(LINE, title_id=f"t-{day}"),),
        )
        for day in range(1, 5)
    ]
    await write_all(store.connection, ORDERS, [order_item("reader", order) for order in orders])
    assert await store.orders.purchased("reader", soon) == ("t-4", "t-3")


async def test_no_item_has_the_owner_in_plain_text(store: DynamoStore, soon: Deadline) -> None:
    owner = "reader@example.org"
    event = Event(EventKind.VIEWED, "manga-000001", "2026-11-02T09:30:00.000Z")
    for item in (order_item(owner, ORDER), event_item(owner, event)):
        assert owner not in str(item)


async def test_tables_are_created_once_as_defined(dynamodb_address: DynamoAddress) -> None:
    assert create_tables(dynamodb_address) == []
    assert set(describe_tables(dynamodb_address).values()) == {None}
    driver = client(dynamodb_address)
    for table in TABLES:
        name = table.full_name(dynamodb_address.prefix)
        assert driver.describe_table(TableName=name)["Table"]["BillingModeSummary"]["BillingMode"] == BILLING_MODE
        forgetting = driver.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert forgetting.get("AttributeName") == table.ttl


async def test_table_with_other_keys_or_indexes_is_reported_and_refused(dynamodb_address: DynamoAddress) -> None:
    other = replace(dynamodb_address, prefix=f"{dynamodb_address.prefix}x-")
    wrong = [
        TITLES,
        replace(STOCK, partition_key="id"),
        *(replace(each, indexes=()) for each in (RELEASES, ORDERS)),
        PROFILE,
    ]
    create_tables(other, wrong)
    problems = list(describe_tables(other).values())
    lacks = ["lacks the index by_month", "lacks the index by_time"]
    assert problems == [None, "has other keys than it should", *lacks, None]
    with pytest.raises(ValueError, match="other keys"):
        create_tables(other)


async def test_missing_tables_are_named_by_health_and_calls(dynamodb_address: DynamoAddress, soon: Deadline) -> None:
    nowhere = replace(dynamodb_address, prefix="nowhere-")
    assert set(describe_tables(nowhere).values()) == {"is not there"}
    async with DynamoStore.open(nowhere) as store:
        healths = [await part.health(soon) for part in (store.stock, store.orders)]
        assert not any(health.ok for health in healths)
        details = ["The table of the stock is not there.", "The table of the orders is not there."]
        assert [health.detail for health in healths] == details
        with pytest.raises(DependencyFailure, match="not there"):
            await store.stock.availability(["manga-000001"], soon)


async def test_health_of_stock_orders_and_profiles_is_independent(dynamodb_address: DynamoAddress, soon: Deadline) -> None:
    driver = client(dynamodb_address)
    driver.delete_table(TableName=ORDERS.full_name(dynamodb_address.prefix))
    async with DynamoStore.open(dynamodb_address) as store:
        parts: list[Any] = [store.stock, store.orders, store.profiles]
        assert [(await part.health(soon)).ok for part in parts] == [True, False, True]
