"""A new process whose catalogue and stock are both down: it starts, and answers from what another one left in Redis."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session.redis.address import RedisAddress
from tests.chaos.test_lifecycle_redis import valkey_on
from tests.support.process import Process, serving, until
from tests.support.sse import SseClient
from tests.support.valkey import ask, connected

SEARCH, DETAILS, STOCK = "search_manga_catalog", "get_manga_details", "check_inventory"
KEPT_SECONDS = 40.0
KNOWN_SECONDS = 20.0
META = "com.mangaassist/call"
AWS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}  # for an endpoint that refuses everybody


@contextmanager
def refusing() -> Iterator[int]:
    """A port that is taken and at which nobody listens: whoever connects is refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def call(client: SseClient, tool: str, **arguments: Any) -> dict[str, Any]:
    return await client.call(tool, arguments, {})


async def stands_in(client: SseClient, tool: str, fallback: str, **arguments: Any) -> dict[str, Any]:
    """The value of an answer that comes from the last rung, once what was kept has been read."""
    result: dict[str, Any] = {}

    async def answers() -> bool:
        nonlocal result
        result = await call(client, tool, **arguments)
        return not result["isError"]

    await until(answers, KNOWN_SECONDS, f"{tool} answers from what was kept")
    assert (result["_meta"][META]["source"], result["_meta"][META]["fallback"]) == ("fallback", fallback)
    return dict(result["structuredContent"])


async def test_a_new_process_without_catalogue_and_stock_has_what_the_last_one_left(
    tmp_path: Path, monkeypatch: Any
) -> None:
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "valkey.sock"
    url = f"unix://{path}"
    async with valkey_on(path):
        async with serving(redis_url=url, rate_limit="off") as first, connected(RedisAddress(path=str(path))) as redis:

            async def kept() -> bool:
                names = b" ".join(await ask(redis, "KEYS", "manga:mcp:snapshot:*"))
                return b":popular:" in names and len(re.findall(rb":stock:", names)) == 16

            await until(kept, KEPT_SECONDS, "popular titles and their stock are kept, though nobody has asked for any")
            async with SseClient.to(first.port) as client:
                found = await call(client, SEARCH, query="berserk")
                title_id = found["structuredContent"]["results"][0]["title_id"]
                live = (await call(client, STOCK, title_ids=[title_id]))["structuredContent"]["items"][0]
        with refusing() as port:
            down = {"catalog_url": f"http://127.0.0.1:{port}", "store_url": store_url(port)}
            async with serving(redis_url=url, rate_limit="off", **down) as second, SseClient.to(second.port) as client:
                await without_backends(second, client, title_id, live)


def store_url(port: int) -> str:
    return f"dynamodb://ap-northeast-1?endpoint=http://127.0.0.1:{port}"


async def without_backends(server: Process, client: SseClient, title_id: str, live: dict[str, Any]) -> None:
    popular = await stands_in(client, SEARCH, "cached_popular_manga", query="something else", genre="seinen")
    assert len(popular["results"]) == 5
    assert {card["genre"] for card in popular["results"]} == {"seinen"}
    details = await stands_in(client, DETAILS, "last_known_details", title_id=title_id)
    assert details["title_id"] == title_id
    (item,) = (await stands_in(client, STOCK, "cached_inventory_snapshot", title_ids=[title_id]))["items"]
    assert (item["availability"], item["in_stock"], item["price_jpy"]) == ("last_known", None, live["price_jpy"])
    age = (datetime.now(UTC) - datetime.fromisoformat(item["as_of"])).total_seconds()
    assert 0 <= age < 15 * 60
    never = await call(client, STOCK, title_ids=["manga-zzzzzz"])
    assert never["isError"], "what was not kept is not made up"
    assert "Traceback" not in server.log
