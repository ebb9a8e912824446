"""The flags document as an item of a real DynamoDB."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.seed.store import client, create_tables
from server.config.parsing import FlagsItem
from server.config.sources import Unreadable
from server.flags import follower as sources
from server.flags.document import Flags, parse
from server.flags.follower import DOCUMENT, TABLE, DynamoSource, Follower
from tests.stack.dynamodb import REGION
from tools.registry import TOOLS
from tools.store.backends.dynamodb.tables import DynamoAddress


@dataclass
class FlagsTable:
    """A table of its own, made from its one definition."""

    address: DynamoAddress

    @property
    def name(self) -> str:
        return TABLE.full_name(self.address.prefix)

    def item(self, key: str = "production") -> FlagsItem:
        endpoint = urlsplit(self.address.endpoint or "").geturl()
        return FlagsItem.parse(f"dynamodb://{REGION}/{self.name}/{key}?endpoint={endpoint}")

    def put(self, document: Any, key: str = "production") -> None:
        client(self.address).put_item(TableName=self.name, Item={TABLE.partition_key: {"S": key}, DOCUMENT: document})


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is answered counts here, and not how soon on a busy machine."""
    monkeypatch.setattr(sources, "DYNAMODB_SECONDS", 30.0)


@pytest.fixture
def table(dynamodb_url: str) -> FlagsTable:
    address = DynamoAddress.parse(f"dynamodb://{REGION}?endpoint={dynamodb_url}&table_prefix=t{uuid.uuid4().hex[:8]}-")
    create_tables(address, [TABLE])
    return FlagsTable(address)


@pytest.fixture
async def source(table: FlagsTable) -> AsyncIterator[DynamoSource]:
    async with aclosing(DynamoSource(table.item())) as opened:
        yield opened


async def why(source: DynamoSource) -> str:
    with pytest.raises(Unreadable) as caught:
        await source.read()
    return str(caught.value)


async def test_changed_item_is_seen_by_the_next_look(table: FlagsTable, source: DynamoSource) -> None:
    flags = Flags()
    follower = Follower(source, flags, TOOLS)
    for document in ('{"lookup_order": false}', '{"lookup_order": {"percent": 20}}', "{}"):
        table.put({"S": document})
        assert await follower.read_once()
        assert not await follower.read_once()
        assert flags.document == parse(document.encode())


async def test_missing_item_or_attribute_of_another_type_is_reported(table: FlagsTable, source: DynamoSource) -> None:
    assert await why(source) == "the table has no such item"
    table.put({"M": {}})
    assert await why(source) == "the item has no attribute document that is a text"
    table.put({"S": "{}"}, key="staging")
    assert await why(source) == "the item has no attribute document that is a text"


async def test_missing_table_is_reported(table: FlagsTable) -> None:
    nowhere = FlagsItem(table.address, "t-nowhere", "production")
    async with aclosing(DynamoSource(nowhere)) as source:
        assert await why(source) == "The table of the flags is not there"


async def test_item_key_may_be_any_text(table: FlagsTable) -> None:
    table.put({"S": '{"lookup_order": true}'}, key="本番/a b")
    async with aclosing(DynamoSource(table.item("%E6%9C%AC%E7%95%AA%2Fa%20b"))) as source:
        assert await source.read() == b'{"lookup_order": true}'
