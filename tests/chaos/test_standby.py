"""A real OpenSearch goes away in the middle of a conversation, and comes back: a standby catalogue answers meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from server.config.settings import Settings
from server.standby.replica import NAME
from tests.chaos.faults import HANG, NONE, REFUSED, Fault
from tests.chaos.proxy import Proxy
from tests.stack.fixtures import opensearch_url
from tests.support.catalogs import catalog_file, local_embedder, opensearch_catalog, records
from tests.support.inprocess import in_process
from tests.support.standby import bundle_of
from tests.support.standby_shop import Shop
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.records.catalog_file import Record

__all__ = ["catalog_file", "local_embedder", "opensearch_catalog", "opensearch_url", "records"]

# The first test that asks the node starts it and loads the catalogue.
pytestmark = pytest.mark.timeout(300)
SEARCH = "search_manga_catalog"


@pytest.mark.parametrize("fault", [REFUSED, HANG], ids=lambda fault: fault.name)
async def test_the_conversation_goes_on_with_the_same_titles_and_is_live_again_afterwards(
    opensearch_catalog: OpenSearchAddress,  # noqa: F811
    records: Sequence[Record],  # noqa: F811
    tmp_path: Path,
    fault: Fault,
) -> None:
    bundle = await bundle_of(tmp_path / "standby.bundle", records)
    async with Proxy.before("opensearch", opensearch_catalog.port, slow=0.6) as proxy:
        where = f"http://127.0.0.1:{proxy.port}/?alias={opensearch_catalog.alias}"
        settings = Settings(catalog_url=where, standby="full", standby_url=bundle.as_uri(), cache=False)
        async with in_process(settings=settings) as here:
            shop = Shop(here.port)
            await shop.until_loaded()
            asked = {"query": "ベルセルク", "max_results": 3}
            before, _ = await shop.until(SEARCH, asked, None)
            await proxy.turn(fault)
            after, told = await shop.until(SEARCH, asked, NAME)
            assert told["source"] == "fallback"
            assert first(after) == first(before)
            exact, _ = await shop.until(SEARCH, {"query": "finished seinen manga under 8 volumes"}, NAME)
            assert exact["results"], json.dumps(exact)
            assert {each["condition"] for each in exact["understood"]} >= {"finished", "seinen"}
            await proxy.turn(NONE)
            again, told = await shop.until(SEARCH, asked, None)
            assert (told["source"], first(again)) == ("live", first(before))


def first(answer: dict[str, list[dict[str, object]]]) -> object:
    return answer["results"][0]["title_id"]
