"""Images and other content blocks go to the client beside the result, and nowhere else."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import replace

import pytest

from tests.support.calls import TITLE
from tests.support.pipeline import Answer, Kit
from tests.support.store import Mood
from tests.support.valkey import ask, eventually
from tools.contract import TEXT, Fallback, Json, ToolContext
from tools.get_manga_details import TOOL
from tools.results.content import Image
from tools.results.rows import recall_details

pytestmark = pytest.mark.virtual_time
PICTURE = Image(b"not for Redis", "image/png", "A picture.")


async def pictured(context: ToolContext, asked: Json) -> Json:
    context.content.append(PICTURE)
    return await TOOL.handler(context, asked)


async def completed(context: ToolContext, result: Json) -> Json:
    context.content.append(PICTURE)
    return result


async def pictured_from_memory(context: ToolContext, asked: Json) -> Json:
    context.content.append(PICTURE)
    return await recall_details(context, asked)


def pictures(answer: Answer) -> int:
    return sum(block["type"] == "image" for block in answer.result["content"])


async def kept(kit: Kit) -> bytes:
    """Everything that Redis holds, as one."""
    found = []
    for key in await ask(kit.redis, "KEYS", "*"):
        kind = await ask(kit.redis, "TYPE", key)
        how = {b"string": ("GET", key), b"list": ("LRANGE", key, "0", "-1"), b"hash": ("HGETALL", key)}
        command = how.get(kind if isinstance(kind, bytes) else str(kind).encode())
        found.append(repr(await ask(kit.redis, *command)) if command else "")
    return "".join(found).encode()


async def test_images_reach_the_client_and_neither_redis_nor_logs(kit: Kit) -> None:
    kit.exchange(TOOL.name, tool=replace(TOOL, handler=pictured))
    answer = await kit.ask(TOOL.name, TITLE, user="u", session="s", idempotency_key="k")
    assert pictures(answer) == 1
    held = await kept(kit)
    assert TITLE["title_id"].encode() in held, "the call is remembered"
    assert PICTURE.data not in held
    assert b64encode(PICTURE.data) not in held
    assert "not for Redis" not in repr(kit.events)


async def test_result_with_images_is_not_cached(kit: Kit) -> None:
    kit.exchange(TOOL.name, tool=replace(TOOL, handler=pictured))
    answers = [await kit.ask(TOOL.name, TITLE, user="u", idempotency_key="k") for _ in range(2)]
    assert [(pictures(answer), answer.meta["source"]) for answer in answers] == [(1, "live")] * 2
    assert kit.calls_of("get") == 4, "the title and what is related to it, twice each"


async def test_completion_adds_images_to_a_cached_result_too(kit: Kit) -> None:
    assert TOOL.cache is TEXT
    kit.exchange(TOOL.name, tool=replace(TOOL, complete=completed))
    answers = [await kit.ask(TOOL.name, TITLE) for _ in range(2)]
    assert [(pictures(answer), answer.meta["source"]) for answer in answers] == [(1, "live"), (1, "cache")]


async def test_calls_in_one_flight_share_the_images(kit: Kit) -> None:
    kit.exchange(TOOL.name, tool=replace(TOOL, handler=pictured))
    kit.backends.catalog.gate = asyncio.Event()
    calls = [asyncio.create_task(kit.ask(TOOL.name, TITLE)) for _ in range(2)]
    await eventually(lambda: kit.calls_of("get") == 1 and len(kit.redis.trips) == 2)
    kit.backends.catalog.gate.set()
    assert [pictures(answer) for answer in await asyncio.gather(*calls)] == [1, 1]
    assert kit.calls_of("get") == 2, "the title and what is related to it, once each"


async def test_fallback_may_return_images(kit: Kit) -> None:
    kit.exchange(TOOL.name, tool=replace(TOOL, complete=None, fallback=Fallback("remembered", pictured_from_memory)))
    kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
    answer = await kit.ask(TOOL.name, TITLE)
    assert (pictures(answer), answer.meta["source"]) == (1, "fallback")
