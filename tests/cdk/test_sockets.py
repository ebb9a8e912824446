"""The count of a customer's sockets, on a stand-in of DynamoDB that reads its expressions, in the table as it is deployed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from infra.door.authorizer import MOST_SOCKETS, SOCKET_SECONDS, Sockets
from infra.door.outside import FLOOD, post
from server.config.settings import ROOT
from tests.door.test_outside import Driver
from tests.support.cdk import REGION, Template
from tests.support.moto import client, moto

NOW = 1_800_000_000_000
NAME = "sockets"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture
def driver(endpoint: str, pod: Template) -> Iterator[Any]:
    stated = {
        name: value
        for name, value in pod.only("AWS::DynamoDB::Table").items()
        if name in ("AttributeDefinitions", "KeySchema", "BillingMode")
    }
    made = client("dynamodb", endpoint, REGION)
    made.create_table(TableName=NAME, **stated)
    yield made
    made.delete_table(TableName=NAME)


def test_a_customer_has_so_many_and_room_again(driver: Any, pod: Template) -> None:
    sockets = Sockets(NAME, driver)
    let_in = [sockets.open("customer-1", NOW, f"c-{number}=") for number in range(40)]  # moto does not write atomically
    assert sum(let_in) == MOST_SOCKETS
    assert sockets.open("customer-2", NOW, "d=")
    sockets.close("customer-1", NOW, f"c-{let_in.index(True)}=")
    sockets.close("customer-1", NOW, "never-there=")
    assert sockets.open("customer-1", NOW + 1, "e=")
    assert not sockets.open("customer-1", NOW + 2, "f=")
    late = NOW + SOCKET_SECONDS * 1000
    assert sockets.open("customer-1", late, "g="), "farewells that were lost are forgotten"
    items = driver.scan(TableName=NAME)["Items"]
    assert "customer-1" not in str(items)
    ends = pod.only("AWS::DynamoDB::Table")["TimeToLiveSpecification"]["AttributeName"]
    assert {int(each[ends]["N"]) for each in items} == {NOW // 1000 + SOCKET_SECONDS, late // 1000 + SOCKET_SECONDS}


def test_whoever_closes_all_leaves_nothing_open(driver: Any) -> None:
    sockets = Sockets(NAME, driver)
    sockets.open("customer-1", NOW, "c=")
    sockets.close("customer-1", NOW, "c=")
    (item,) = driver.scan(TableName=NAME)["Items"]
    assert "open" not in item
    assert sockets.open("customer-1", NOW, "d=")


def test_whoever_floods_is_told_and_closed_and_their_place_stays_taken(driver: Any) -> None:
    assert f'"{FLOOD}"' in (ROOT / "infra/agent/service.py").read_text("utf-8"), "the agent's refusal has another name"
    sockets, outside = Sockets(NAME, driver), Driver()
    opened = [f"c-{number}=" for number in range(40) if sockets.open("customer-1", NOW, f"c-{number}=")]
    flooding, gone, *_ = opened
    assert post(outside, flooding, {"event": "error", "name": FLOOD}, driver, NAME) == {"status": 200}
    assert (len(outside.sent), outside.closed) == (1, [flooding])
    sockets.close("customer-1", NOW, flooding)
    assert not sockets.open("customer-1", NOW, "d=")
    sockets.close("customer-1", NOW, gone)
    assert sockets.open("customer-1", NOW, "d=")
