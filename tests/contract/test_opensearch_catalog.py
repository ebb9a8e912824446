"""The OpenSearch catalogue only: work ends with the call, failing clusters, late vectors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import numpy as np
import pytest
from aiohttp import web
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tests.stack import opensearch
from tests.stack.children import free_port
from tests.stack.require import require
from tests.support.cases import cases
from tests.support.catalogs import loaded, new_address
from tests.support.process import until
from tests.support.wrong_opensearch import answers, packed, serving
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.catalog import OpenSearchCatalog
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import Identity
from tools.store.failures import BackendFailure, DependencyFailure, RequestRejected, Throttled, TimedOut
from tools.store.models import CatalogQuery, Conditions, Ordering, Status
from tools.store.ports import Embedder
from tools.store.records.catalog_file import Record

pytestmark = pytest.mark.timeout(300)

BOUND = 20.0
"""Seconds within which the cluster has to have noticed; what it is given to do takes it several times as long."""
SLOW_DOCUMENTS = 60_000
LOOP = "double s = 1; for (int i = 0; i < 20000; i++) { s = Math.sin(s + i) } return s > 2"
"""Each step needs the one before, so that no compiler can make it short."""
SLOW = {"size": 0, "query": {"script": {"script": {"source": LOOP}}}}


class SlowEmbedder:
    """The real one behind a gate; `fails` makes it fail instead."""

    def __init__(self, real: Embedder) -> None:
        self.real = real
        self.gate = asyncio.Event()
        self.fails = False
        self.name, self.dimensions = real.name, real.dimensions

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        if self.fails:
            raise DependencyFailure("away", dependency="embedder")
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self.gate.wait()
        except TimeoutError:
            raise TimedOut("late", dependency="embedder") from None
        return await self.real.embed(texts, deadline)


@pytest.fixture
async def http(opensearch_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=opensearch_url, timeout=60) as client:
        yield client


@pytest.fixture
async def slow_index(http: httpx.AsyncClient, opensearch_url: str) -> AsyncIterator[OpenSearchAddress]:
    """An index in which `SLOW` takes minutes."""
    address = new_address(opensearch_url)
    settings = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}}
    (await http.put(f"/{address.alias}", json=settings)).raise_for_status()
    lines = '{"index":{}}\n{"a":1}\n' * SLOW_DOCUMENTS
    sent = await http.post(
        f"/{address.alias}/_bulk?refresh=true", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    sent.raise_for_status()
    yield address
    await http.delete(f"/{address.alias}")


async def searches_running(http: httpx.AsyncClient, alias: str) -> int:
    """Search tasks of the cluster that are about this index."""
    nodes = (await http.get("/_tasks", params={"actions": "*search*", "detailed": "true"})).json()["nodes"]
    tasks = [task for node in nodes.values() for task in node["tasks"].values()]
    return sum(alias in task.get("description", "") for task in tasks)


async def test_cancelled_call_leaves_no_task_on_the_cluster(slow_index: OpenSearchAddress, http: httpx.AsyncClient) -> None:
    client = Client(slow_index)
    calls = [asyncio.create_task(client.searches([SLOW], Deadline.after(120))) for _ in range(2)]

    async def under_way() -> bool:
        return await searches_running(http, slow_index.alias) > 0

    async def gone() -> bool:
        return not await under_way()

    await until(under_way, BOUND, "the searches on the cluster")
    for call in calls:
        call.cancel()
    assert all(isinstance(e, asyncio.CancelledError) for e in await asyncio.gather(*calls, return_exceptions=True))
    await until(gone, BOUND, "the end of the searches on the cluster")
    await client.aclose()


async def test_deadline_ends_the_call_and_the_search_on_the_cluster(
    slow_index: OpenSearchAddress, http: httpx.AsyncClient
) -> None:
    client = Client(slow_index)
    async with asyncio.timeout(BOUND):
        with pytest.raises(TimedOut):
            await client.searches([SLOW], Deadline.after(0.5))

    async def gone() -> bool:
        return not await searches_running(http, slow_index.alias)

    await until(gone, BOUND, "the end of the searches on the cluster")
    await client.aclose()


async def test_partial_answer_of_a_timed_out_search_is_a_timeout(
    slow_index: OpenSearchAddress, http: httpx.AsyncClient
) -> None:
    """The cluster stops at its own `timeout` with status 200 and a part of the hits."""
    body = {"query": SLOW["query"], "timeout": "50ms", "size": 1}
    half = (await http.post(f"/{slow_index.alias}/_search", json=body)).json()
    assert half["timed_out"]

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"took": 1, "responses": [half]})

    async with serving(answer) as url, OpenSearchCatalog.open(OpenSearchAddress.parse(url), None) as catalog:
        with pytest.raises(TimedOut):
            await catalog.popular(Conditions(), 5, Deadline.after(5))


@asynccontextmanager
async def opened(address: OpenSearchAddress, embedder: Embedder | None) -> AsyncIterator[OpenSearchCatalog]:
    async with OpenSearchCatalog.open(address, embedder) as catalog:
        yield catalog


QUERY = CatalogQuery("someone who cooks for strangers at night", Conditions(), 10)


async def test_words_are_searched_when_the_embedder_is_late_or_fails(
    opensearch_catalog: OpenSearchAddress, local_embedder: Embedder
) -> None:
    embedder = SlowEmbedder(local_embedder)
    async with opened(opensearch_catalog, embedder) as catalog:
        late = await catalog.search(QUERY, Deadline.after(5))
        embedder.gate.set()
        whole = await catalog.search(QUERY, Deadline.after(5))
    embedder.fails = True
    async with opened(opensearch_catalog, embedder) as catalog:
        away = await catalog.search(QUERY, Deadline.after(5))
    assert late == away
    assert late.titles
    assert (late.degraded, whole.degraded) == (("vector",), ())
    assert late.titles != whole.titles


async def test_words_are_searched_when_the_embedder_is_not_that_of_the_index(
    opensearch_catalog: OpenSearchAddress, local_embedder: Embedder
) -> None:
    other = SlowEmbedder(local_embedder)
    other.name, other.dimensions = "another-model", 1024
    async with opened(opensearch_catalog, other) as catalog:
        page = await catalog.search(QUERY, Deadline.after(5))
        health = await catalog.health(Deadline.after(5))
    assert page.titles
    assert page.degraded == ("vector",)
    assert not health.ok
    assert "another-model (1024)" in health.detail
    assert local_embedder.name in health.detail


async def test_index_without_vectors_is_searched_by_words_and_labelled(
    opensearch_url: str, records: Sequence[Record], local_embedder: Embedder
) -> None:
    address = new_address(opensearch_url)
    await loaded(address, records[:40], None)
    async with opened(address, local_embedder) as catalog:
        assert (await catalog.search(QUERY, Deadline.after(5))).degraded == ("vector",)
        assert "no vectors" in (await catalog.health(Deadline.after(5))).detail
    async with opened(address, None) as catalog:
        assert (await catalog.search(QUERY, Deadline.after(5))).degraded == ()
        assert (await catalog.health(Deadline.after(5))).ok


async def test_missing_index_is_a_failure_that_says_so(opensearch_url: str) -> None:
    async with opened(new_address(opensearch_url), None) as catalog:
        with pytest.raises(DependencyFailure, match="index of the catalogue is not there"):
            await catalog.search(QUERY, Deadline.after(5))
        assert "not there" in (await catalog.health(Deadline.after(5))).detail


REFUSED = {"error": {"type": "x_exception", "reason": "at 10.1.2.3 by admin"}, "status": 500}
BAD_SHARD = {"shard": 0, "reason": {"type": "x_exception", "reason": "10.1.2.3"}}
WRONG = [
    (503, REFUSED, DependencyFailure),
    (500, {}, DependencyFailure),
    (502, "<html>bad gateway at 10.1.2.3</html>", DependencyFailure),
    (400, REFUSED, RequestRejected),
    (400, "The plain HTTP request was sent to HTTPS port", DependencyFailure),
    (200, {"responses": [{"error": {"type": "parsing_exception"}, "status": 400}]}, RequestRejected),
    (429, REFUSED, Throttled),
    (401, REFUSED, DependencyFailure),
    (403, "no", DependencyFailure),
    (404, REFUSED, DependencyFailure),
    (408, REFUSED, TimedOut),
    (504, "late", TimedOut),
    (200, "not json", DependencyFailure),
    (200, [], DependencyFailure),
    (200, {}, DependencyFailure),
    (200, {"responses": []}, DependencyFailure),
    (200, {"responses": [None]}, DependencyFailure),
    (200, {"responses": [{"error": {"type": "rejected_execution_exception"}, "status": 429}]}, Throttled),
    (200, {"responses": [{"error": {"type": "task_cancelled_exception"}, "status": 500}]}, TimedOut),
    (200, {"responses": [{"error": "odd", "status": 500}]}, DependencyFailure),
    (200, answers(timed_out=True), TimedOut),
    (200, answers(_shards={"total": 2, "successful": 1, "failed": 1, "failures": [BAD_SHARD]}), DependencyFailure),
    (200, answers(_shards={"total": 2, "successful": 1, "failed": 0}), DependencyFailure),
    (200, answers({"fields": {"title_id": ["a"], "packed": ["e30"]}}), DependencyFailure),
    (200, answers({"fields": {"title_id": ["a"], "packed": ["\ud800"]}}), DependencyFailure),
    (200, answers({"fields": {"title_id": ["a"], "packed": [packed({"title_id": "a"})]}}), DependencyFailure),
    (200, answers({"fields": {"title_id": [], "packed": None}}), DependencyFailure),
    (200, answers({"fields": 5}), DependencyFailure),
    (200, answers({"_source": {"title_id": "a"}}), DependencyFailure),
    (200, answers(hits=None), DependencyFailure),
]


@cases(("status", "said", "kind"), WRONG)
async def test_any_malformed_answer_is_a_store_failure_without_its_text(
    status: int, said: Any, kind: type[BackendFailure]
) -> None:
    """The failure's message repeats nothing of the answer."""
    text = said if isinstance(said, str) else json.dumps(said)

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type="application/json")

    async with serving(answer) as url, opened(OpenSearchAddress.parse(url), None) as catalog:
        for call in (catalog.popular(Conditions(), 5, Deadline.after(5)), catalog.get(["a"], Deadline.after(5))):
            with pytest.raises(kind) as caught:
                await call
            assert type(caught.value) is kind or kind is DependencyFailure
            assert caught.value.dependency == "catalog"
            assert not any(word in caught.value.message for word in ("10.1.2.3", "admin", "127.0.0.1", "exception"))
        assert not (await catalog.health(Deadline.after(5))).ok


async def test_refused_connection_is_a_failure_without_an_address() -> None:
    address = OpenSearchAddress.parse(f"http://user:secret@127.0.0.1:{free_port()}")
    async with opened(address, None) as catalog:
        with pytest.raises(DependencyFailure) as caught:
            await catalog.popular(Conditions(), 5, Deadline.after(5))
    assert caught.value.message == "The catalogue cannot be reached."
    assert "secret" not in f"{address} {address!r}"


async def test_server_that_never_answers_times_out_at_the_deadline() -> None:
    never = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    async with serving(answer) as url, opened(OpenSearchAddress.parse(url), None) as catalog:
        async with asyncio.timeout(5):
            with pytest.raises(TimedOut):
                await catalog.search(QUERY, Deadline.after(0.2))
        never.set()


async def test_index_of_another_format_is_reported_and_not_searched() -> None:
    old = Identity("1", "any", None, 0, 3, "any")

    async def answer(request: web.Request) -> web.StreamResponse:
        told = {"old": {"mappings": {"_meta": old.meta()}}} if request.path.endswith("/_mapping") else answers()
        return web.json_response(told)

    finished, cheapest = Conditions(statuses=(Status.FINISHED,)), Ordering.PRICE
    async with serving(answer) as url, opened(OpenSearchAddress.parse(url), None) as catalog:
        soon = Deadline.after(5)
        for call in (
            catalog.search(CatalogQuery("", finished, 5), soon),
            catalog.search(CatalogQuery("", Conditions(), 5, 0, cheapest), soon),
            catalog.search(QUERY, soon),
            catalog.popular(finished, 5, soon),
            catalog.terms(soon),
            catalog.match_names(["x"], soon),
            catalog.get(["manga-that-only-the-store-has"], soon),
        ):
            with pytest.raises(DependencyFailure, match="another version"):
                await call
        health = await catalog.health(soon)
    assert not health.ok
    assert "load the catalogue again" in health.detail


async def test_names_are_looked_up_once_and_all_in_one_search(
    opensearch_catalog: OpenSearchAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    searches = Client.searches

    async def counted(client: Client, bodies: Sequence[Any], deadline: Deadline) -> Any:
        asked.append(len(bodies))
        return await searches(client, bodies, deadline)

    async with opened(opensearch_catalog, None) as catalog:
        await catalog.terms(Deadline.after(20))
        monkeypatch.setattr(Client, "searches", counted)
        first = await catalog.match_names(["Berserk", "nothing at all"], Deadline.after(20))
        assert await catalog.match_names(["nothing at all", "Berserk"], Deadline.after(20)) == first
        assert asked == [1]
        await catalog.match_names(["Monster", "Berserk"], Deadline.after(20))
        assert asked == [1, 1]


async def test_names_found_by_a_search_are_not_looked_up_again(
    opensearch_catalog: OpenSearchAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    searches = Client.searches

    async def counted(client: Client, bodies: Sequence[Any], deadline: Deadline) -> Any:
        asked.append(len(bodies))
        return await searches(client, bodies, deadline)

    async with OpenSearchCatalog.open(opensearch_catalog, None) as catalog:
        await catalog.search(CatalogQuery("Do you have Berserk?", Conditions(), 5), Deadline.after(30))
        monkeypatch.setattr(Client, "searches", counted)
        names = ["do you have berserk?", "berserk"]
        found = await catalog.match_names(names, Deadline.after(30))
        assert asked == []
        async with OpenSearchCatalog.open(opensearch_catalog, None) as other:
            assert found == await other.match_names(names, Deadline.after(30))
        assert found["berserk"].title_ids


async def test_driver_does_not_retry_by_itself() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(status=503)

    async with serving(answer) as url, opened(OpenSearchAddress.parse(url), None) as catalog:
        with pytest.raises(DependencyFailure):
            await catalog.popular(Conditions(), 5, Deadline.after(5))
    assert asked == ["/_msearch"]


@pytest.mark.slow  # a node hangs and dies: most of a minute
async def test_node_that_hung_or_died_is_used_again_when_it_is_back(records: Sequence[Record]) -> None:
    """A hung node times out and a dead one fails at once; back at its address, at first empty, it answers."""
    require("OpenSearch", opensearch.missing())
    settings = {"http.port": str(free_port())}
    address = OpenSearchAddress.parse(f"http://127.0.0.1:{settings['http.port']}")
    async with opened(address, None) as catalog:
        with opensearch.started(settings) as node:
            await loaded(address, records[:40], None)
            page = await catalog.search(QUERY, Deadline.after(20))
            node.child.pause()
            with pytest.raises(TimedOut):
                await catalog.search(QUERY, Deadline.after(0.3))
            node.child.resume()
            assert await catalog.search(QUERY, Deadline.after(20)) == page
            node.child.kill()
            with pytest.raises(DependencyFailure):
                await catalog.search(QUERY, Deadline.after(5))
        with opensearch.started(settings):
            with pytest.raises(DependencyFailure):
                await catalog.search(QUERY, Deadline.after(20))
            await loaded(address, records[:40], None)
            assert await catalog.search(QUERY, Deadline.after(20)) == page
