"""DynamoDB Local is what the store's adapter takes it for, through aiobotocore and boto3 side by side."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import boto3
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from tests.stack.dynamodb import KEYS, REGION

pytestmark = pytest.mark.timeout(120)

KEY = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]


@pytest.fixture
async def client(dynamodb_endpoint: str) -> AsyncIterator[Any]:
    config = AioConfig(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=2, read_timeout=10)
    async with get_session().create_client(
        "dynamodb", region_name=REGION, endpoint_url=dynamodb_endpoint, config=config, **KEYS
    ) as opened:
        yield opened


@pytest.fixture
async def table(client: Any) -> AsyncIterator[str]:
    name = f"stack-{uuid.uuid4().hex[:8]}"
    await client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=KEY,
        AttributeDefinitions=[{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in KEY],
    )
    yield name
    await client.delete_table(TableName=name)


def item(user: str, order: str, **more: dict[str, Any]) -> dict[str, Any]:
    return {"pk": {"S": user}, "sk": {"S": order}, **more}


async def test_a_table_is_made_and_tells_that_it_is_ready(client: Any, table: str) -> None:
    """It is ACTIVE at once, with the keys it was made with."""
    told = (await client.describe_table(TableName=table))["Table"]
    assert told["TableStatus"] == "ACTIVE"
    assert told["KeySchema"] == KEY


async def test_a_query_sees_one_users_items_only_and_newest_first(client: Any, table: str) -> None:
    """Items of another user stay out, Japanese text comes back as it was."""
    for order in ("2026-10-01", "2026-10-03", "2026-10-02"):
        await client.put_item(TableName=table, Item=item("user-1", order, title={"S": "進撃の巨人"}))
    await client.put_item(TableName=table, Item=item("user-2", "2026-10-04"))
    answer = await client.query(
        TableName=table,
        KeyConditionExpression="pk = :user",
        ExpressionAttributeValues={":user": {"S": "user-1"}},
        ScanIndexForward=False,
    )
    assert [each["sk"]["S"] for each in answer["Items"]] == ["2026-10-03", "2026-10-02", "2026-10-01"]
    assert {each["title"]["S"] for each in answer["Items"]} == {"進撃の巨人"}


async def test_a_batch_get_brings_what_is_there_and_leaves_out_the_rest(client: Any, table: str) -> None:
    """Twenty reads at once, one of them of an item that never was."""
    await asyncio.gather(
        *(client.put_item(TableName=table, Item=item("stock", f"{n:03}", copies={"N": str(n)})) for n in range(19))
    )
    asked = [item("stock", f"{n:03}") for n in range(20)]
    answer = await client.batch_get_item(RequestItems={table: {"Keys": asked}})
    assert sorted(int(each["copies"]["N"]) for each in answer["Responses"][table]) == list(range(19))
    assert answer["UnprocessedKeys"] == {}


async def test_a_transaction_happens_whole_or_not_at_all(client: Any, table: str) -> None:
    """When one condition does not hold, nothing is written and the reasons come one for each item."""
    await client.put_item(TableName=table, Item=item("user-1", "taken"))
    put = [
        {"Put": {"TableName": table, "Item": item("user-1", "new")}},
        {
            "Put": {
                "TableName": table,
                "Item": item("user-1", "taken"),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        },
    ]
    with pytest.raises(ClientError) as refused:
        await client.transact_write_items(TransactItems=put)
    reasons = refused.value.response["CancellationReasons"]
    assert [each["Code"] for each in reasons] == ["None", "ConditionalCheckFailed"]
    assert "Item" not in await client.get_item(TableName=table, Key=item("user-1", "new"))
    await client.transact_write_items(TransactItems=put[:1])
    assert "Item" in await client.get_item(TableName=table, Key=item("user-1", "new"))


async def test_the_same_token_repeats_no_transaction_and_another_request_under_it_is_refused(
    client: Any, table: str
) -> None:
    """The idempotency that other test servers only pretend."""
    count = {
        "TableName": table,
        "Key": item("user-1", "counter"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    token = uuid.uuid4().hex
    for _ in range(2):
        await client.transact_write_items(TransactItems=[{"Update": count}], ClientRequestToken=token)
    kept = await client.get_item(TableName=table, Key=item("user-1", "counter"))
    assert kept["Item"]["n"] == {"N": "1"}
    other = {**count, "ExpressionAttributeValues": {":one": {"N": "2"}}}
    with pytest.raises(ClientError) as refused:
        await client.transact_write_items(TransactItems=[{"Update": other}], ClientRequestToken=token)
    assert refused.value.response["Error"]["Code"] == "IdempotentParameterMismatchException"


async def test_a_table_tells_which_attribute_ends_an_items_life(client: Any, table: str) -> None:
    """TTL is off at first and on under the name it was given."""
    before = await client.describe_time_to_live(TableName=table)
    assert before["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    wanted = {"Enabled": True, "AttributeName": "expires"}
    await client.update_time_to_live(TableName=table, TimeToLiveSpecification=wanted)
    after = await client.describe_time_to_live(TableName=table)
    assert after["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


async def test_boto3_sees_what_aiobotocore_wrote(client: Any, table: str, dynamodb_endpoint: str) -> None:
    """Both live in one environment on one botocore, and one database serves both."""
    await client.put_item(TableName=table, Item=item("user-1", "seen"))
    plain = boto3.client("dynamodb", region_name=REGION, endpoint_url=dynamodb_endpoint, **KEYS)
    try:
        answer = await asyncio.to_thread(plain.get_item, TableName=table, Key=item("user-1", "seen"))
    finally:
        plain.close()
    assert answer["Item"] == item("user-1", "seen")
