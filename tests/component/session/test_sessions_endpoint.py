"""GET and DELETE /sessions/{id} read and end a conversation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from server.call import Bearer, Principal, RequestMetadata
from server.identity.request_metadata import Identifier, TrustStated
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.transport.http.app import Probes, Sessions
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Reply, Step
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import Rate
from tests.support.cases import cases
from tests.support.pipeline import Kit, Opener
from tools.store.failures import DependencyFailure, Failure, Forbidden, InvalidArguments, NotFound, RateLimited

pytestmark = pytest.mark.virtual_time

OWN = {"session": "s", "user": "u"}
SEARCH = "search_manga_catalog"
U, V = {"X-User-ID": "u"}, {"X-User-ID": "v"}
NOTHING_YET = "Nothing has been asked in this conversation yet."


@asynccontextmanager
async def serving(kit: Kit, identifier: Identifier | None = None) -> AsyncIterator[httpx.AsyncClient]:
    app = kit.app
    sessions = Sessions(identifier or app.identifier, app.caller_limits, app.memory, kit.store.now)
    asgi = Starlette(routes=[Route("/sessions/{session}", sessions.serve, methods=["GET", "DELETE"])])
    transport = httpx.ASGITransport(asgi)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://manga") as http:
        yield http


async def told(http: httpx.AsyncClient, path: str = "/sessions/s", user: dict[str, str] = U) -> dict[str, Any]:
    answer = await http.get(path, headers=user)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    return dict(answer.json())


async def test_session_is_read_back_with_summary_calls_and_totals(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    await kit.ask("get_manga_details", {"title_id": "manga-999999"}, **OWN)
    await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, **OWN)
    async with serving(kit) as http:
        read = await told(http)
    assert read.pop("summary").split("\n")[3].endswith('search "pirates": 1 of 1 titles: Pirate Sea')
    calls = read.pop("calls")
    assert [(call["tool"], call["succeeded"]) for call in calls] == [
        ("lookup_order", True),
        ("get_manga_details", False),
        (SEARCH, True),
    ]
    assert calls[2].keys() >= {"arguments", "summary", "latency_ms", "cache_hit", "tokens", "at"}
    assert (calls[2]["words"], calls[2]["shown"]) == ("pirates", [["manga-000001", "Pirate Sea"]])
    totals = read.pop("totals")
    assert (totals["calls"], totals["failures"], totals["cache_hits"]) == (3, 1, 0)
    assert totals["tokens_out"] == sum(call["tokens"] for call in calls)
    assert read == {
        "session_id": "s",
        "shared": {"title_id": "manga-000001", "title": "Pirate Sea", "order_id": "MNG-UUUU0001"},
        "last_shown": {
            "by": "search",
            "query": "pirates",
            "titles": [{"title_id": "manga-000001", "title": "Pirate Sea"}],
        },
    }


async def test_query_selects_the_relevant_calls(kit: Kit) -> None:
    """The default is five calls; the list shown last is always included."""
    for query in ("pirates", "碁の幽霊", *["romance"] * 6):
        await kit.ask(SEARCH, {"query": query}, **OWN)
    async with serving(kit) as http:
        assert len((await told(http))["calls"]) == 8
        assert [call["words"] for call in (await told(http, "/sessions/s?calls=2"))["calls"]] == ["romance"] * 2
        one = await told(http, "/sessions/s?query=幽霊はまだありますか&calls=1")
        assert [call["words"] for call in one["calls"]] == ["碁の幽霊"]
        assert "Shown last by search" in one["summary"]
        five = await told(http, "/sessions/s?query=more+pirates")
        assert [call["words"] for call in five["calls"]] == ["romance"] * 4 + ["pirates"]


@cases("user", [V, {}])
async def test_foreign_session_and_unused_session_are_equally_empty(kit: Kit, user: dict[str, str]) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    async with serving(kit) as http:
        others, never = await told(http, user=user), await told(http, "/sessions/never", user)
    assert {**others, "session_id": ""} == {**never, "session_id": ""}
    assert (never["summary"], never["calls"], never["last_shown"], never["shared"]) == (NOTHING_YET, [], None, {})


async def test_ended_session_is_empty_for_its_owner_only(kit: Kit) -> None:
    for user in ("u", "v"):
        await kit.ask(SEARCH, {"query": "pirates"}, session="s", user=user)
    async with serving(kit) as http:
        assert (await http.delete("/sessions/s", headers=U)).status_code == 204
        assert (await told(http))["summary"] == NOTHING_YET
        assert len((await told(http, user=V))["calls"]) == 1


@cases(
    ("path", "said"),
    [
        ("/sessions/no%20spaces", "sessionId"),
        ("/sessions/s?calls=0", "calls: "),
        ("/sessions/s?calls=21", "calls: "),
        ("/sessions/s?calls=1", ""),
        ("/sessions/s?calls=20", ""),
        (f"/sessions/s?query={'x' * 500}", ""),
        ("/sessions/s?calls=many", "calls: "),
        (f"/sessions/s?query={'x' * 501}", "query: it is too long"),
    ],
)
async def test_session_request_beyond_its_bounds_gets_400_with_the_fix(kit: Kit, path: str, said: str) -> None:
    async with serving(kit) as http:
        answer = await http.get(path, headers=U)
    assert answer.status_code == (400 if said else 200)
    if said:
        assert answer.json()["error"]["name"] == "VALIDATION_ERROR"
        assert said in answer.json()["error"]["message"]


async def test_session_request_without_redis_gets_503_with_retry_after(kit: Kit) -> None:
    class Silent:
        async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
            raise MemoryUnavailable("away at 10.0.0.7")

        async def aclose(self) -> None: ...

    kit.redis.inner = Silent()
    async with serving(kit) as http:
        for answer in (await http.get("/sessions/s", headers=U), await http.delete("/sessions/s", headers=U)):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"]["name"] == "DEPENDENCY_FAILURE"
            assert "10.0.0.7" not in answer.text


@cases(
    ("failure", "status", "again"),
    [
        (Forbidden("Not so."), 403, None),
        (InvalidArguments([]), 400, None),
        (NotFound("Not so."), 400, None),
        (RateLimited("Not so.", retry_after_ms=1000), 429, "1"),
        (RateLimited("Not so.", retry_after_ms=1001), 429, "2"),
        (DependencyFailure("profile", retry_after_ms=1), 503, "1"),
    ],
)
async def test_failure_is_told_by_its_status_and_whole_seconds_to_wait(
    kit: Kit, failure: Failure, status: int, again: str | None
) -> None:
    class Failing(TrustStated):
        async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
            raise failure

    async with serving(kit, Failing()) as http:
        for answer in (await http.get("/sessions/s"), await http.delete("/sessions/s")):
            assert (answer.status_code, answer.headers.get("retry-after")) == (status, again)
            assert answer.json()["error"] == {"name": failure.name, "message": failure.message}


async def test_process_is_ready_once_it_knows_its_flags_until_it_drains(kit: Kit) -> None:
    """It is degraded, and serves, while a dependency does not answer."""

    stock: dict[str, Any] = {}

    class Known(Dependencies):
        async def states(self) -> dict[str, dict[str, Any]]:
            return {"orders": {"state": "ok"}, "stock": stock}

    for draining, flags_known, state, status, code in (
        (False, True, "ok", "ready", 200),
        (False, True, "down", "degraded", 200),
        (False, False, "ok", "starting", 503),
        (True, True, "ok", "draining", 503),
        (True, False, "ok", "draining", 503),
    ):
        probes = Probes(Lifecycle(draining, lambda known=flags_known: known), Known({}), kit.app.metrics)
        request = Request({"type": "http", "headers": []})
        stock["state"] = state
        told = await probes.readyz(request)
        said = json.loads(bytes(told.body))
        assert (told.status_code, told.headers.get("retry-after"), said["status"]) == (
            code,
            "1" if code == 503 else None,
            status,
        )
        assert bool(said["dependencies"]) == (not draining)
        alive = await probes.healthz(request)
        assert (alive.status_code, alive.body) == (200, b"ok\n")


async def test_session_requests_are_rate_limited_per_user(opener: Opener) -> None:
    """Requests of other users pass."""
    kit: Kit = await opener(rate=Rate(1, 3))
    async with serving(kit) as http:
        statuses = [(await http.get("/sessions/s", headers=U)).status_code for _ in range(5)]
        refused = await http.get("/sessions/s", headers=U)
        assert (await http.get("/sessions/s", headers=V)).status_code == 200
    assert statuses == [200, 200, 200, 429, 429]
    assert (refused.json()["error"]["name"], refused.headers["retry-after"]) == ("RATE_LIMITED", "1")
