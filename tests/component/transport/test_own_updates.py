"""Only a session's own listeners are notified of its new calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from server.transport.changes import SessionResourceUpdated, decode_event, encode_event
from session.keys import owner
from tests.support.cases import cases
from tests.support.inmemory import LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]

HISTORY = "manga://session/history"
SEARCH = "search_manga_catalog"
OTHERS = [{"session": "s", "user": "v"}, {"session": "s"}, {"session": "t", "user": "u"}, {"user": "u"}]
LONG_AFTER = 10.0


@asynccontextmanager
async def telling(*kits: Kit) -> AsyncIterator[None]:
    """As applications keep telling of changes."""
    protocols = [kit.app.protocol for kit in kits]
    async with asyncio.TaskGroup() as group:
        keeps = [each.run() for own in protocols for each in (own.own_updates, own.tool_list_changes)]
        tasks = [group.create_task(each) for each in keeps]
        yield
        for task in tasks:
            task.cancel()


def stated(session: str = "s", user: str | None = "u") -> Any:
    meta = {"com.mangaassist/sessionId": session}
    return meta | ({"com.mangaassist/userId": user} if user else {})


async def search(kit: Kit, **whose: str) -> None:
    assert (await kit.ask(SEARCH, {"query": "pirates"}, **whose)).failure is None


@asynccontextmanager
async def of_2025(kit: Kit) -> AsyncIterator[tuple[Client, list[str]]]:
    """A client, and what it was told."""
    heard: list[str] = []

    async def hear(told: Any) -> None:
        if isinstance(told, types.ResourceUpdatedNotification):
            heard.append(str(told.params.uri))

    async with telling(kit), connected(kit, "legacy", message_handler=hear) as client:
        yield client, heard


async def test_only_the_listener_of_a_session_is_notified_of_its_calls(kit: Kit) -> None:
    async with of_2025(kit) as (client, heard):
        await client.subscribe_resource(HISTORY, meta=stated())
        for whose in OTHERS:
            await search(kit, **whose)
        await asyncio.sleep(LONG_AFTER)
        assert heard == []
        await search(kit, session="s", user="u")
        await asyncio.sleep(LONG_AFTER)
        assert heard == [HISTORY]


async def test_subscription_of_2026_is_notified_of_its_own_session_only(kit: Kit) -> None:
    """Over a transport without headers the session is that of the connection."""
    heard: list[ServerEvent] = []

    async def listen(client: Client, begun: asyncio.Event) -> None:
        async with client.listen(resource_subscriptions=[HISTORY]) as events:
            begun.set()
            while True:
                heard.append(await anext(events))

    async with telling(kit), connected(kit, "auto") as client:
        begun = asyncio.Event()
        task = asyncio.create_task(listen(client, begun))
        await begun.wait()
        for whose in OTHERS:
            await search(kit, **whose)
        await asyncio.sleep(LONG_AFTER)
        assert heard == []
        await client.call_tool(SEARCH, {"query": "pirates"})
        await asyncio.sleep(LONG_AFTER)
        assert heard == [ResourceUpdated(HISTORY)]
        task.cancel()


async def test_burst_of_calls_is_notified_at_most_once_a_second(kit: Kit) -> None:
    async with of_2025(kit) as (client, heard):
        await client.subscribe_resource(HISTORY, meta=stated())
        for _ in range(10):
            await search(kit, session="s", user="u")
        await asyncio.sleep(LONG_AFTER)
        assert heard == [HISTORY] * 2, "the first at once, all that came within the second together"


async def test_connection_may_subscribe_for_several_users_and_unsubscribe_one(kit: Kit) -> None:
    async with of_2025(kit) as (client, heard):
        for user in ("u", "v"):
            await client.subscribe_resource(HISTORY, meta=stated(user=user))
        await client.unsubscribe_resource(HISTORY, meta=stated(user="u"))
        await search(kit, session="s", user="u")
        await asyncio.sleep(LONG_AFTER)
        assert heard == []
        await search(kit, session="s", user="v")
        await asyncio.sleep(LONG_AFTER)
        assert heard == [HISTORY]


async def test_call_without_listeners_notifies_nobody_and_makes_two_round_trips(kit: Kit) -> None:
    told: list[ServerEvent] = []
    kit.app.protocol.tool_list_changes.bus.subscribe(told.append)
    async with telling(kit):
        kit.redis.trips.clear()
        await search(kit, session="s", user="u")
        assert len(kit.redis.trips) == 2
        await asyncio.sleep(LONG_AFTER)
        assert (told, len(kit.redis.trips)) == ([], 2)


async def test_listener_is_notified_of_calls_on_another_replica_by_a_hash(opener: Opener) -> None:
    """Messages between replicas contain neither the session nor the user."""
    here: Kit = await opener()
    there: Kit = await opener()
    messages: list[bytes] = []
    own, others = (kit.app.protocol.tool_list_changes.bus for kit in (here, there))
    others.subscribe(lambda event: messages.append(encode_event(event, "there")))
    async with of_2025(here) as (client, heard), telling(there):
        await client.subscribe_resource(HISTORY, meta=stated("session-one", "somebody@example.org"))
        await search(there, session="session-one", user="somebody@example.org")
        await asyncio.sleep(LONG_AFTER)
        assert (heard, len(messages)) == ([], 1)
        assert not any(word in messages[0] for word in (b"session-one", b"somebody"))
        event = decode_event(messages[0], "here")
        assert event == SessionResourceUpdated(HISTORY, owner("session-one", "somebody@example.org"))
        await own.publish(event)
        await asyncio.sleep(LONG_AFTER)
        assert heard == [HISTORY]


@cases("wrong", [b'{"resource": "manga://session/history", "owner": 7}', b'{"owner": "x"}'])
def test_update_message_without_an_owner_is_dropped(wrong: bytes) -> None:
    """It must not be sent to all listeners instead."""
    assert decode_event(wrong, "here") is None


async def test_client_without_a_named_session_is_notified_of_its_connection_session(kit: Kit) -> None:
    async with of_2025(kit) as (client, heard):
        await client.subscribe_resource(HISTORY)
        await client.call_tool(SEARCH, {"query": "pirates"})
        await asyncio.sleep(LONG_AFTER)
        assert heard == [HISTORY]
