"""Whether the server at the catalogue's address is an OpenSearch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.wrong_opensearch import answers, serving
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import FORMAT, Identity
from tools.store.backends.opensearch.diagnosis import NotOpenSearch, diagnose, identify
from tools.store.failures import DependencyFailure

VERSION = {"version": {"distribution": "opensearch", "number": "3.1.0"}}


@asynccontextmanager
async def answering(status: int, body: Any, **at: Any) -> AsyncIterator[OpenSearchAddress]:
    """A server that answers with `body`, or with the body in `at` for paths with that last part."""

    async def handler(request: web.Request) -> web.StreamResponse:
        if (special := at.get(request.path.rpartition("/")[2])) is not None:
            return web.json_response(special, status=status)
        if isinstance(body, str):
            return web.Response(text=body, status=status, content_type="text/html")
        return web.json_response(body, status=status)

    async with serving(handler) as url:
        yield OpenSearchAddress.parse(url)


async def identified(address: OpenSearchAddress) -> str | None:
    client = Client(address)
    try:
        return await identify(client, Deadline.after(5))
    finally:
        await client.aclose()


OTHERS = [
    (200, "<html>welcome</html>"),
    (200, ""),
    (200, {"status": "ok"}),
    (200, {"version": "1.0"}),
    (200, {"version": {"number": 3}}),
    (200, []),
    (404, "<html>not found</html>"),
    (404, {"detail": "Not Found"}),
    (405, ""),
    (301, "moved"),
    (400, {"message": "missing authentication token"}),
    (200, {"version": {"number": "8.15.0", "build_flavor": "default"}, "tagline": "You Know, for Search"}),
]


@cases(("status", "body"), OTHERS, ids=[f"{status} {body!r:.30}" for status, body in OTHERS])
async def test_server_other_than_opensearch_is_recognised(status: int, body: Any) -> None:
    """Otherwise its 404 would pass for a missing index, and a seed would be advised."""
    async with answering(status, body) as address:
        with pytest.raises(NotOpenSearch):
            await identified(address)
        told = await diagnose(address, None, Deadline.after(5))
    assert (told.state, told.version) == ("down", None)
    assert told.detail.startswith("the address belongs to ")
    assert "another server than OpenSearch" in told.detail
    assert (told.remedy or "").startswith("check host, port and path in MANGA_CATALOG_URL")


async def test_opensearch_reports_its_version() -> None:
    async with answering(200, VERSION) as address:
        assert await identified(address) == "OpenSearch 3.1.0"


async def test_a_403_on_the_version_request_is_not_a_failure() -> None:
    async with answering(403, {"error": {"type": "security_exception"}, "status": 403}) as address:
        assert await identified(address) is None


@cases("status", [401, 429, 500, 503])
async def test_error_status_leaves_the_kind_of_server_undecided(status: int) -> None:
    """It may be an OpenSearch that is starting or wants a password."""
    async with answering(status, {"error": "x", "status": status}) as address:
        with pytest.raises(DependencyFailure) as caught:
            await identified(address)
        assert not isinstance(caught.value, NotOpenSearch)


GOOD: dict[str, Any] = {"length": {"value": 1.0}} | {name: {"buckets": []} for name in ("tags", "magazines", "readerships")}
ODD_ANSWERS = [
    answers(),
    answers(hits={"total": 3, "hits": []}, aggregations=GOOD),
    answers(hits={"total": {"value": "many"}, "hits": []}, aggregations=GOOD),
    answers(hits={"total": {"value": 1}, "hits": []}, aggregations=GOOD | {"tags": None}),
    answers(hits={"total": {"value": 1}, "hits": [7]}, aggregations=GOOD),
]
METAS = [{}, {"_meta": 3}, {"_meta": {"format": "3"}}, [], None]


@cases("found", ODD_ANSWERS)
async def test_unreadable_statistics_are_a_problem(found: Any) -> None:
    meta = Identity(FORMAT, "d", None, 0, 1, "c").meta()
    mapping = {"manga-catalog-0": {"mappings": {"_meta": meta}}}
    async with answering(200, VERSION, _mapping=mapping, _msearch=found) as address:
        told = await diagnose(address, None, Deadline.after(5))
    assert (told.state, told.version) == ("down", "OpenSearch 3.1.0")
    assert told.remedy


@cases("mappings", METAS)
async def test_mapping_without_meta_of_ours_is_a_problem(mappings: Any) -> None:
    async with answering(200, VERSION, _mapping={"manga-catalog-0": {"mappings": mappings}}) as address:
        told = await diagnose(address, None, Deadline.after(5))
    assert (told.state, told.version) == ("down", "OpenSearch 3.1.0")
    assert told.remedy
