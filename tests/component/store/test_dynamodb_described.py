"""The diagnosis of a table whose description is not of DynamoDB's shape, as an emulator or proxy may answer."""

from __future__ import annotations

from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.wrong_dynamodb import Answer, Request, wrong_dynamodb
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.diagnosis import diagnose
from tools.store.backends.dynamodb.tables import ORDERS, DynamoAddress
from tools.store.identifiers import Identifiers

GOOD = ORDERS.creation("manga-") | {"TableStatus": "ACTIVE", "ItemCount": 3}
ODD: list[Any] = [
    "text",
    [1],
    {"TableStatus": "ACTIVE"},
    GOOD | {"KeySchema": None},
    GOOD | {"KeySchema": "text"},
    GOOD | {"KeySchema": [{"AttributeName": "owner"}]},
    GOOD | {"LocalSecondaryIndexes": 3},
    GOOD | {"LocalSecondaryIndexes": [{}]},
    GOOD | {"LocalSecondaryIndexes": [{**GOOD["LocalSecondaryIndexes"][0], "Projection": None}]},
    GOOD | {"LocalSecondaryIndexes": [{**GOOD["LocalSecondaryIndexes"][0], "Projection": {"NonKeyAttributes": 3}}]},
    GOOD | {"LocalSecondaryIndexes": [{**GOOD["LocalSecondaryIndexes"][0], "IndexName": ["by_time"]}]},
]


async def described(table: Any, **found: Any) -> tuple[str, str, str | None]:
    def answer(request: Request) -> Answer:
        return Answer.json({"Table": table} if request.keys() == {"TableName"} else {"ConsumedCapacity": {}, **found})

    async with wrong_dynamodb(answer) as wrong:
        connection = Connection(DynamoAddress.parse(wrong.url))
        try:
            told = await diagnose(connection, ORDERS, Identifiers(), Deadline.after(5))
        finally:
            await connection.aclose()
    return told.state, told.detail, told.remedy


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")


async def test_good_description_is_no_problem() -> None:
    assert (await described(GOOD | {"ItemCount": "many"}))[0] == "ok"
    assert await described(GOOD) == ("ok", "table manga-orders, 3 items at the last count", None)
    odd: list[Any] = [None, 3, {}, [], [3], [{"order_id": 3}]]
    for items in odd:
        assert (await described(GOOD, Items=items))[0] == "ok", "of an unreadable order nothing is said"


@cases("table", ODD, ids=[f"{each!r:.40}" for each in ODD])
async def test_odd_description_is_a_problem(table: Any) -> None:
    state, detail, remedy = await described(table)
    assert (state, detail) == ("down", "it answers with something that cannot be read")
    assert remedy == "check what listens at MANGA_STORE_URL"
