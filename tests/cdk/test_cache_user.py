"""The rules of the cache's user let the server do what it does, and no more: on a real Valkey, with the user as it is deployed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from infra.cdk.stages import PROD
from session.failures import MemoryRefused
from session.redis.address import RedisAddress
from session.redis.multiplexed import MultiplexedRedis
from tests.component.conftest import moody, shelf
from tests.support.cases import cases
from tests.support.cdk import Template
from tests.support.pipeline import opening_kits
from tests.support.store import Backends
from tests.support.valkey import ask, connected, valkey

__all__ = ["moody", "shelf", "valkey"]
SECRET = "of-this-test"


@pytest.fixture
async def signed_in(valkey: RedisAddress, foundation: Template) -> AsyncIterator[MultiplexedRedis]:
    """A connection of the deployed user. Valkey has no IAM: here a password stands for it."""
    user = foundation.only("AWS::ElastiCache::User")
    name = user["UserName"]
    async with connected(valkey) as administrator:
        await ask(administrator, "FLUSHALL")
        await ask(administrator, "ACL", "SETUSER", name, "reset", f">{SECRET}", *user["AccessString"].split())
        try:
            async with connected(replace(valkey, username=name, password=SECRET)) as own:
                yield own
        finally:
            await ask(administrator, "ACL", "DELUSER", name)


@pytest.mark.virtual_time
async def test_a_conversation_is_remembered(signed_in: MultiplexedRedis, moody: Backends) -> None:
    async with opening_kits(signed_in, lambda: moody) as opener:
        kit = await opener()
        found = await kit.ask("search_manga_catalog", {"query": "dark fantasy with swords"}, session="of-the-user")
        stock = await kit.ask("check_inventory", {}, session="of-the-user")
        recalled = await kit.memory.recall("of-the-user", None)
    assert (found.meta["degraded"], stock.meta["degraded"]) == ([], [])
    assert (recalled.known, len(recalled.calls)) == (True, 2)


@cases(
    "command",
    [
        ("PING",), ("TIME",), ("INFO", "server"), ("EVAL", "return redis.call('TIME')[1]", 0), ("PUBLISH", "manga:mcp:told", "x"),
        ("SPUBLISH", "manga:mcp:told", "x"), ("SET", "manga:mcp:a", "1", "EX", 1), ("UNLINK", "manga:mcp:a"),
    ],
)  # fmt: skip
async def test_what_the_server_says_is_let_through(signed_in: MultiplexedRedis, command: tuple[str, ...]) -> None:
    await ask(signed_in, *command)


@cases(
    "command",
    [
        ("GET", "other:key"), ("SET", "other:key", "1"), ("FLUSHALL",), ("FLUSHDB",), ("KEYS", "*"), ("CONFIG", "GET", "*"),
        ("ACL", "LIST"), ("PUBLISH", "other", "x"), ("SCRIPT", "FLUSH"), ("EVAL", "return redis.call('GET', KEYS[1])", 1, "other"),
        ("SHUTDOWN",), ("MONITOR",), ("CLIENT", "KILL", "TYPE", "normal"),
    ],
)  # fmt: skip
async def test_what_it_does_not_say_is_refused(signed_in: MultiplexedRedis, command: tuple[str | int, ...]) -> None:
    with pytest.raises(MemoryRefused, match="NOPERM|permission"):
        await ask(signed_in, *command)


def test_the_rules_are_the_same_in_both_stages(foundation: Template) -> None:
    assert PROD.prefix.startswith("manga-tools-")
    assert foundation.only("AWS::ElastiCache::User")["AccessString"].startswith("on ~manga:* resetchannels &manga:* -@all ")
