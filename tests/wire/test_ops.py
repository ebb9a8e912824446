"""The operators' page of a running server: backends that are killed and recover, workers, and shutdown."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.stack import dynamodb
from tests.stack.dynamodb import KEYS, REGION
from tests.stack.require import require
from tests.support.ops import Events, watching
from tests.support.process import Process, serving
from tests.support.raw import Connection, call, in_2026
from tests.support.stack import seeded
from tests.support.valkey import private_valkey

PATIENCE = 60.0
QUIET = {"rate_limit": "off", "embedder": "none"}
Json = dict[str, Any]


def breaker(state: Json, name: str) -> Json:
    (found,) = [each for each in state["breakers"] if each["name"] == name]
    return found


def dependency(state: Json, name: str) -> Json:
    (found,) = [each for each in state["dependencies"] if each["name"] == name]
    return found


async def until_told(page: Events, holds: Callable[[Json], bool]) -> Json:
    async with asyncio.timeout(PATIENCE):
        while not holds(state := await page.next("state")):
            pass
    return state


async def keep_asking(process: Process, tool: str, arguments: Json) -> None:
    """Breakers learn from calls alone."""
    async with Connection.to(process.port) as connection:
        number = 0
        while True:
            number += 1
            meta = {"com.mangaassist/sessionId": f"ops-{number}", "com.mangaassist/userId": "demo-user-1"}
            body, headers = in_2026(call(tool, arguments, meta, number))
            assert (await connection.request("POST", "/mcp", body, headers)).status == 200
            await asyncio.sleep(0.02)


@pytest.mark.slow  # a breaker opens and closes: ten seconds
async def test_killed_redis_shows_as_an_open_breaker_and_recovers() -> None:
    """The stream ends with the server, which exits with 0."""
    with private_valkey() as redis:
        async with serving(redis_url=f"redis://127.0.0.1:{redis.port}", **QUIET) as process, watching(process.port) as page:
            asking = asyncio.create_task(keep_asking(process, "search_manga_catalog", {"query": "pirates"}))
            try:
                well = await until_told(page, lambda state: dependency(state, "redis")["status"] == "ok")
                assert (breaker(well, "redis")["state"], breaker(well, "redis")["fault"]) == ("closed", None)
                redis.kill()
                lost = breaker(await until_told(page, lambda state: breaker(state, "redis")["state"] == "open"), "redis")
                assert lost["fault"]
                assert lost["retry_after_ms"] > 0
                assert lost["changes"] > breaker(well, "redis")["changes"]
                row = dependency(await until_told(page, lambda s: dependency(s, "redis")["status"] != "ok"), "redis")
                assert "MANGAREDISAWAY" in row["advice"].upper()
                redis.start_again()
                back = await until_told(page, lambda state: breaker(state, "redis")["state"] == "closed")
                assert breaker(back, "redis")["since_s"] < PATIENCE
                await until_told(page, lambda state: dependency(state, "redis")["status"] == "ok")
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            process.signal(signal.SIGTERM)
            await page.ended()
            assert await process.ended(PATIENCE) == 0
            assert "Traceback" not in process.log


@pytest.mark.slow  # a breaker opens and closes: twenty seconds
@pytest.mark.timeout(300)
async def test_stopped_dynamodb_shows_in_breakers_and_errors_and_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    """DynamoDB Local is stopped and continued: orders have no fallback, so each is an error with its advice."""
    require("DynamoDB", dynamodb.missing())
    for name, value in KEYS.items():
        monkeypatch.setenv(name.upper(), value)
    with dynamodb.started() as local:
        store = f"dynamodb://{REGION}?endpoint={local.url}&table_prefix=ops-"
        filled = await asyncio.to_thread(seeded, {"MANGA_STORE_URL": store})
        assert filled.returncode == 0, filled.stderr
        async with serving(store_url=store, **QUIET) as process, watching(process.port) as page:
            asking = asyncio.create_task(keep_asking(process, "lookup_order", {"order_id": "MNG-DEMO1001"}))
            try:
                await until_told(page, lambda state: any(each["sources"]["live"] for each in state["tools"]))
                local.child.pause()
                lost = await until_told(page, lambda state: breaker(state, "orders")["state"] == "open")
                assert breaker(lost, "orders")["fault"] == "no answer in time"
                told = await until_told(page, lambda state: any(each["name"] == "CIRCUIT_OPEN" for each in state["errors"]))
                assert all(each["advice"] for each in told["errors"])
                local.child.resume()
                await until_told(page, lambda state: breaker(state, "orders")["state"] == "closed")
            finally:
                local.child.resume()
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
