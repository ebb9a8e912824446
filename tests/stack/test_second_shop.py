"""The second shop in the servers that a shop has: filled by the seed command, and served from there."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.second_shop.test_second_shop import CATALOGUE, FOREIGN, ORDERS, OWN, OWNER, SETTINGS
from tests.stack.seeding import Destination
from tests.support.clients import Connections
from tests.support.serving import served

pytestmark = pytest.mark.timeout(300)


async def test_a_shop_in_dollars_is_seeded_and_served_with_its_orders(
    target: Destination, redis_url: str, tmp_path: Path
) -> None:
    """Prices are the shop's, an order is its owner's alone, and nothing of the demo is in the tables."""
    own = {name: value for name, value in SETTINGS.items() if name not in target.settings}
    said = await asyncio.to_thread(partial(target.seed, **own))
    assert f"{len(CATALOGUE)} titles written" in said
    assert target.titles() == len(CATALOGUE)
    assert {each["order_id"]["S"] for each in target.items("orders")} == ORDERS.keys()
    with served(tmp_path / "server", tmp_path / "cache", **own, **target.settings, MANGA_REDIS_URL=redis_url) as serving:
        opened = Connections(tmp_path / "clients", tmp_path / "cache")
        try:
            client = opened.open("http-2025", serving.url)
            found = (await client.call("search_manga_catalog", {"query": "fantasy under $10"})).value
            (item,) = (await client.call("check_inventory", {"title_ids": ["hb-00010"]})).value["items"]
            latest = (await client.call("lookup_order", {}, userId=OWNER)).value["orders"]
            order = (await client.call("lookup_order", {"order_id": OWN}, userId=OWNER)).value
            foreign = (await client.call("lookup_order", {"order_id": FOREIGN}, userId=OWNER)).error
        finally:
            opened.close()
    cheap = {of: each["offers"][0]["price_usd"] for of, each in CATALOGUE.items() if each["offers"][0]["price_usd"] < 10}
    assert found["results"]
    assert all(each["price_usd"] == cheap[each["title_id"]] for each in found["results"])
    assert item["price_usd"] == CATALOGUE["hb-00010"]["offers"][0]["price_usd"]
    assert {each["order_id"] for each in latest} == {of for of, each in ORDERS.items() if each["owner"] == OWNER}
    assert order["total_usd"] == ORDERS[OWN]["total_usd"]
    assert foreign["name"] == "NOT_FOUND"
