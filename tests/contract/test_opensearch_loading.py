"""Loading a catalogue into OpenSearch: beside the serving one, once, and resumed where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from aiohttp import web
from numpy.typing import NDArray

from infra.seed.index import Plan
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK
from tests.support.bedrock import Bedrock, after, bedrock, bedrock_embedder, says, vector_of
from tests.support.catalogs import loaded, new_address
from tests.support.process import until
from tests.support.valkey import eventually
from tests.support.wrong_opensearch import REGION, Serverless
from tools.store.backends.bedrock import BedrockEmbedder
from tools.store.backends.opensearch import definition as index
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.catalog import OpenSearchCatalog
from tools.store.backends.opensearch.diagnosis import diagnose
from tools.store.models import CatalogQuery, Conditions
from tools.store.ports import Embedder
from tools.store.records.catalog_file import Record

__all__ = ["bedrock", "bedrock_embedder"]

pytestmark = pytest.mark.timeout(300)

ALL = CatalogQuery("", Conditions(), 500)


class CountingEmbedder:
    """The real one, which counts texts and is killed, as a process would be, before it goes beyond `most`."""

    def __init__(self, real: Embedder, most: int | None = None) -> None:
        self.real, self.most, self.texts = real, most, 0
        self.name, self.dimensions = real.name, real.dimensions

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        if self.most is not None and self.texts + len(texts) > self.most:
            raise KeyboardInterrupt
        self.texts += len(texts)
        return await self.real.embed(texts, deadline)


@pytest.fixture
async def http(opensearch_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=opensearch_url, timeout=60) as client:
        yield client


async def indices_of(http: httpx.AsyncClient, address: OpenSearchAddress) -> set[str]:
    return set((await http.get(f"/{address.alias}-*/_alias")).json())


async def test_repeated_load_has_nothing_to_do(opensearch_url: str, records: Sequence[Record]) -> None:
    address = new_address(opensearch_url)
    told: list[tuple[int, int, str]] = []
    first = await loaded(address, records[:70], None, progress=lambda *what: told.append(what))
    assert (first.titles, first.there, first.serving, first.replaces) == (70, 0, False, ())
    assert told[0] == (0, 70, "titles")
    assert told[-1] == (70, 70, "in service")
    again = await loaded(address, records[:70], None, progress=lambda *what: pytest.fail("something was done"))
    assert again.nothing_to_do
    assert again.index == first.index


async def test_dry_run_changes_nothing(opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient) -> None:
    address = new_address(opensearch_url)
    plan = await loaded(address, records[:40], None, dry_run=True)
    assert (plan.titles, plan.there, plan.serving) == (40, 0, False)
    assert await indices_of(http, address) == set()


async def test_interrupted_load_resumes_where_it_stopped(
    opensearch_url: str, records: Sequence[Record], local_embedder: Embedder, http: httpx.AsyncClient
) -> None:
    address = new_address(opensearch_url)
    whole = CountingEmbedder(local_embedder)
    await loaded(new_address(opensearch_url), records[:100], whole)
    with pytest.raises(KeyboardInterrupt):
        await loaded(address, records[:100], CountingEmbedder(local_embedder, most=whole.texts // 2))
    assert len(await indices_of(http, address)) == 1
    async with OpenSearchCatalog.open(address, None) as catalog:
        assert not (await catalog.health(Deadline.after(10))).ok  # half a catalogue never serves
    rest = CountingEmbedder(local_embedder)
    plan = await loaded(address, records[:100], rest)
    assert 0 < plan.there < 100
    assert rest.texts < whole.texts
    async with OpenSearchCatalog.open(address, local_embedder) as catalog:
        assert set((await catalog.search(ALL, Deadline.after(10))).titles) == {title for title, _ in records[:100]}


async def test_new_catalogue_takes_over_while_searches_go_on(
    opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient
) -> None:
    """Every answer is wholly of the old or the new catalogue, and none fails; after a new one none is old."""
    address = new_address(opensearch_url)
    first = await loaded(address, records[:60], None)
    totals: list[int] = []
    over = asyncio.Event()

    async def ask(catalog: OpenSearchCatalog) -> None:
        while not over.is_set():
            page = await catalog.search(ALL, Deadline.after(10))
            assert len(page.titles) == page.total
            totals.append(page.total)
            assert (await catalog.search(CatalogQuery("manga", Conditions(), 5), Deadline.after(10))).degraded == ()
            assert (await catalog.search(CatalogQuery("pirates", Conditions(), 5), Deadline.after(10))).degraded == ()

    async with OpenSearchCatalog.open(address, None) as catalog:
        asking = [asyncio.create_task(ask(catalog)) for _ in range(4)]
        second = await loaded(address, records[:90], None)
        wanted = len(totals) + 20
        await until(
            lambda: len(totals) >= wanted or any(task.done() for task in asking), 30, "the searches after the second load"
        )
        over.set()
        await asyncio.gather(*asking)
        assert "90 titles" in (await catalog.health(Deadline.after(10))).detail
    assert set(totals) == {60, 90}
    assert second.replaces == (first.index,)
    assert await indices_of(http, address) == {first.index, second.index}


async def test_index_before_the_previous_one_is_removed(
    opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient
) -> None:
    address = new_address(opensearch_url)
    stranger = f"{address.alias}-notes"
    (await http.put(f"/{stranger}")).raise_for_status()
    plans = [await loaded(address, records[:count], None) for count in (10, 20, 30)]
    assert await indices_of(http, address) == {plans[1].index, plans[2].index, stranger}


class WaitingEmbedder(CountingEmbedder):
    """Waits before each batch but the first, so that a load stands still with a part of its titles written."""

    def __init__(self, real: Embedder) -> None:
        super().__init__(real)
        self.go_on, self.waiting = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        if self.texts > 100:
            self.waiting.set()
            await self.go_on.wait()
        return await super().embed(texts, deadline)


async def _load_that_waits(
    url: str, records: Sequence[Record], embedder: Embedder
) -> tuple[OpenSearchAddress, WaitingEmbedder, asyncio.Task[Plan]]:
    """A load under way that goes on when its embedder is told to."""
    address, slow = new_address(url), WaitingEmbedder(embedder)
    load = asyncio.create_task(loaded(address, records, slow))
    await asyncio.wait_for(slow.waiting.wait(), 60)
    return address, slow, load


async def test_load_overtaken_by_another_fails_and_leaves_no_index(
    opensearch_url: str, records: Sequence[Record], local_embedder: Embedder, http: httpx.AsyncClient
) -> None:
    """The other load removed the index being filled: writing to it must not create it again."""
    address, slow, loser = await _load_that_waits(opensearch_url, records[:100], local_embedder)
    winner = await loaded(address, records[:50], None)
    slow.go_on.set()
    with pytest.raises(
        ValueError, match=r"another load took over and removed .*: nothing of this one is left; .*run it again"
    ):
        await loser
    assert await indices_of(http, address) == {winner.index}
    async with OpenSearchCatalog.open(address, None) as catalog:
        assert (await catalog.search(ALL, Deadline.after(10))).total == 50


async def test_two_overlapping_loads_of_one_catalogue_both_succeed(
    opensearch_url: str, records: Sequence[Record], local_embedder: Embedder, http: httpx.AsyncClient
) -> None:
    """The first one finishes the load, and the other finds nothing left to do."""
    address, slow, second = await _load_that_waits(opensearch_url, records[:100], local_embedder)
    first = await loaded(address, records[:100], local_embedder)
    slow.go_on.set()
    assert (await second).index == first.index
    assert await indices_of(http, address) == {first.index}
    assert (await loaded(address, records[:100], local_embedder)).nothing_to_do


async def test_loads_that_begin_together_all_succeed(opensearch_url: str, records: Sequence[Record]) -> None:
    address = new_address(opensearch_url)
    plans = await asyncio.gather(*(loaded(address, records[:40], None) for _ in range(3)))
    assert len({plan.index for plan in plans}) == 1
    assert (await loaded(address, records[:40], None)).nothing_to_do


async def test_index_has_a_replica_where_there_is_a_second_node(
    opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient
) -> None:
    """On one node it has none and is green; only the load's own alias is left."""
    address = new_address(opensearch_url)
    plan = await loaded(address, records[:10], None)
    (settings,) = (await http.get(f"/{plan.index}/_settings")).json().values()
    assert settings["settings"]["index"]["auto_expand_replicas"] == "0-1"
    assert (await http.get(f"/_cluster/health/{plan.index}")).json()["status"] == "green"
    (aliases,) = (await http.get(f"/{plan.index}/_alias")).json().values()
    assert set(aliases["aliases"]) == {address.alias}


async def test_foreign_index_under_the_same_name_is_reported_and_left_alone(
    opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient
) -> None:
    address = new_address(opensearch_url)
    wanted = (await loaded(address, records[:10], None, dry_run=True)).index
    (await http.put(f"/{wanted}")).raise_for_status()
    with pytest.raises(ValueError, match="was not made by a load: remove it"):
        await loaded(address, records[:10], None)


async def test_return_to_the_previous_catalogue_only_moves_the_alias(opensearch_url: str, records: Sequence[Record]) -> None:
    address = new_address(opensearch_url)
    first = await loaded(address, records[:20], None)
    await loaded(address, records[:30], None)
    back = await loaded(address, records[:20], None)
    assert (back.index, back.there, back.serving) == (first.index, 20, False)
    async with OpenSearchCatalog.open(address, None) as catalog:
        assert (await catalog.search(ALL, Deadline.after(10))).total == 20


async def test_changed_index_definition_is_reported_and_rebuilt_behind_the_alias(
    opensearch_url: str, records: Sequence[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old index, with the same catalogue, is searched until the new one takes over."""
    address = new_address(opensearch_url)
    first = await loaded(address, records[:20], None)
    assert (await diagnose(address, None, Deadline.after(10))).state == OK
    monkeypatch.setattr(index, "_LONGEST_TERM", 4_000)
    told = await diagnose(address, None, Deadline.after(10))
    assert (told.state, "another definition" in told.detail, "infra.seed" in (told.remedy or "")) == (DEGRADED, True, True)
    async with OpenSearchCatalog.open(address, None) as catalog:
        assert (await catalog.search(ALL, Deadline.after(10))).total == 20
        second = await loaded(address, records[:20], None)
        assert (await catalog.search(ALL, Deadline.after(10))).total == 20
    assert (second.there, second.replaces) == (0, (first.index,))
    assert (await diagnose(address, None, Deadline.after(10))).state == OK
    assert (await loaded(address, records[:20], None)).nothing_to_do


async def test_diagnosis_of_what_no_load_leaves_is_a_problem(opensearch_url: str, records: Sequence[Record]) -> None:
    """An alias of two indices, and a file of certificates that is not there."""
    address, other = new_address(opensearch_url), new_address(opensearch_url)
    await loaded(address, records[:5], None)
    plan = await loaded(other, records[:6], None)
    async with httpx.AsyncClient() as http:
        action = {"add": {"index": plan.index, "alias": address.alias}}
        (await http.post(f"{opensearch_url}/_aliases", json={"actions": [action]})).raise_for_status()
    assert "cannot be read" in (await diagnose(address, None, Deadline.after(10))).detail
    absent = OpenSearchAddress.parse("https://127.0.0.1:1?ca=/nonexistent/ca.pem")
    assert "file of certificates" in (await diagnose(absent, None, Deadline.after(10))).detail


async def test_load_retries_a_throttling_embedder(
    opensearch_url: str, records: Sequence[Record], bedrock: Bedrock, bedrock_embedder: BedrockEmbedder
) -> None:
    """Bedrock throttles callers that embed a whole catalogue."""
    refused: list[str] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if not refused:
            refused.append(body["inputText"])
            return await says({}, 429, "ThrottlingException")(request, body)
        return await says({"embedding": vector_of(body["inputText"])})(request, body)

    bedrock.answer = answer
    address = new_address(opensearch_url)
    assert (await loaded(address, records[:5], bedrock_embedder)).titles == 5
    assert bedrock.texts.count(refused[0]) == 2
    assert (await loaded(address, records[:5], bedrock_embedder)).nothing_to_do


async def test_late_query_vector_is_used_by_the_next_search(
    opensearch_url: str, records: Sequence[Record], bedrock: Bedrock, bedrock_embedder: BedrockEmbedder
) -> None:
    """The model takes 400 ms where a search waits 300 ms."""
    address = new_address(opensearch_url)
    await loaded(address, records[:20], bedrock_embedder)
    bedrock.answer = after(0.4)
    query = CatalogQuery("someone who cooks for strangers at night", Conditions(), 10)
    async with OpenSearchCatalog.open(address, bedrock_embedder) as catalog:
        assert (await catalog.search(query, Deadline.after(10))).degraded == ("vector",)
        await eventually(lambda: not bedrock.under_way)
        bedrock.answer = says({}, 429, "ThrottlingException")
        assert (await catalog.search(query, Deadline.after(10))).degraded == ()
    assert bedrock.texts.count(query.text) == 1


async def test_index_with_the_name_of_the_alias_is_left_alone(
    opensearch_url: str, records: Sequence[Record], http: httpx.AsyncClient
) -> None:
    address = new_address(opensearch_url)
    (await http.put(f"/{address.alias}")).raise_for_status()
    with pytest.raises(ValueError, match="has to be an alias"):
        await loaded(address, records[:10], None)


async def test_serverless_accepts_every_request_of_loading_and_searching(
    opensearch_url: str, records: Sequence[Record], local_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request has own ids, a refresh or node settings; each is signed with its body."""
    front = Serverless(opensearch_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", front.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", front.secret)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    alias = new_address(opensearch_url).alias
    async with front.serve() as url:
        address = OpenSearchAddress.parse(f"aoss+{url}?region={REGION}&alias={alias}")
        await loaded(address, records[:40], local_embedder)
        assert (await loaded(address, records[:40], local_embedder)).nothing_to_do
        async with OpenSearchCatalog.open(address, local_embedder) as catalog:
            page = await catalog.search(CatalogQuery("pirates", Conditions(), 10), Deadline.after(10))
            everything = await catalog.search(ALL, Deadline.after(10))
            assert (await catalog.health(Deadline.after(10))).ok
    assert front.refused == []
    assert front.signed > 8
    assert page.titles
    assert page.degraded == ()
    assert set(everything.titles) == {title for title, _ in records[:40]}


async def test_wrong_secret_is_reported_as_missing_permission(
    opensearch_url: str, records: Sequence[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    front = Serverless(opensearch_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", front.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    async with front.serve() as url:
        address = replace(OpenSearchAddress.parse(f"aoss+{url}?region={REGION}"), alias="t-nobody")
        async with OpenSearchCatalog.open(address, None) as catalog:
            assert "not allowed" in (await catalog.health(Deadline.after(10))).detail
