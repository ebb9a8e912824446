"""A client whose own tool list changed is notified once, and no other client is."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp.server.connection import Connection
from mcp.server.runner import aclose_shielded
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent, ToolsListChanged

from server.call import Principal
from server.flags.document import Flags, parse
from server.identity.tool_access import ToolAccess
from server.transport import listeners as audiences
from server.transport.listeners import WINDOW_SECONDS, SubscriberBus, ToolListChanges
from server.transport.tool_listing import ToolListing
from tests.support.pipeline import registered, registry_of
from tests.support.virtual_time import running_clock
from tools.registry import TOOLS

pytestmark = pytest.mark.virtual_time

OFF = "get_recommendations"
ANYBODY = Principal()
ALICE, BOB = Principal(user="alice"), Principal(user="bob")
FOR_ALICE = {"segments": [{"name": "first", "conditions": [{"property": "user", "operator": "in", "value": ["alice"]}]}]}


class Heard:
    """The SDK's outbound of a client: what it was told. One that does not read takes nothing until it does."""

    def __init__(self, *, reads: bool = True) -> None:
        self.told = 0
        self.begun = 0
        self._reads = asyncio.Event()
        if reads:
            self._reads.set()

    def read_on(self) -> None:
        self._reads.set()

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        assert (method, params) == ("notifications/tools/list_changed", None)
        self.begun += 1
        await self._reads.wait()
        self.told += 1

    async def send_raw_request(self, *_: Any, **__: Any) -> dict[str, Any]:
        raise AssertionError("no client is asked anything")


class Lists:
    """The lists of the store's tools under flags that a test turns, and everybody who hears of them."""

    def __init__(self) -> None:
        self.flags = Flags()
        registry = registry_of(TOOLS)
        listing = ToolListing(ToolAccess(registry, self.flags))
        self.digests: list[Principal] = []
        self.bus = InMemorySubscriptionBus()
        self.changes = ToolListChanges(lambda who: self._counted(listing, who), self.bus)

    def _counted(self, listing: ToolListing, who: Principal) -> str:
        self.digests.append(who)
        return listing.digest(who)

    def flip(self, **flags: Any) -> None:
        self.flags.document = parse(json.dumps(flags).encode())
        self.changes.schedule_comparison()

    async def settled(self) -> None:
        """As long as it takes until whoever is to be told has been."""
        await asyncio.sleep(2 * WINDOW_SECONDS)

    def connect(
        self, principal: Principal = ANYBODY, heard: Heard | None = None, session: str | None = None
    ) -> tuple[Connection, Heard]:
        heard = heard or Heard()
        connection = Connection.for_loop(heard, session_id=session)
        self.changes.join(session_of(connection), principal)
        return connection, heard


def session_of(connection: Connection) -> ServerSession:
    return ServerSession(connection.outbound, connection)  # type: ignore[arg-type]  # its own outbound does for both


@asynccontextmanager
async def keeping() -> AsyncIterator[Lists]:
    lists = Lists()
    task = asyncio.create_task(lists.changes.run())
    try:
        await lists.settled()
        yield lists
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_client_is_notified_once_of_each_change_within_the_window() -> None:
    async with keeping() as lists:
        clock = running_clock()
        _, heard = lists.connect()
        for number, flags in enumerate(({OFF: False}, {}, {OFF: False}), 1):
            began = clock()
            lists.flip(**flags)
            while heard.told < number:
                await asyncio.sleep(0.001)
            assert clock() - began <= WINDOW_SECONDS + 0.002
            await lists.settled()
            assert heard.told == number


async def test_burst_of_changes_is_one_comparison_and_one_notification() -> None:
    async with keeping() as lists:
        _, heard = lists.connect()
        before = len(lists.digests)
        for number in range(101):
            lists.flip(**({} if number % 2 else {OFF: False}))
            await asyncio.sleep(WINDOW_SECONDS / 200)
        await lists.settled()
        assert heard.told == 1
        assert len(lists.digests) - before <= 2, "the burst ends as the window does"


async def test_change_reverted_within_the_window_is_not_notified() -> None:
    async with keeping() as lists:
        _, heard = lists.connect()
        lists.flip(**{OFF: False})
        await asyncio.sleep(WINDOW_SECONDS / 2)
        lists.flip()
        await lists.settled()
        assert heard.told == 0


async def test_only_clients_whose_own_list_changed_are_notified() -> None:
    """A list depends on user and scopes; a flag of an unknown tool and one at 100 percent change none."""
    async with keeping() as lists:
        lists.flip(**{OFF: False})
        await lists.settled()
        granted = Principal(user="alice", scopes=frozenset({registered(OFF).tool.scope}))
        others = Principal(user="alice", scopes=frozenset({registered("lookup_order").tool.scope}))
        heard = {who: lists.connect(who)[1] for who in (ANYBODY, ALICE, BOB, granted, others)}
        lists.flip(**{OFF: FOR_ALICE})
        await lists.settled()
        assert {who: each.told for who, each in heard.items()} == {ANYBODY: 0, ALICE: 1, BOB: 0, granted: 1, others: 0}
        lists.flip(**{OFF: FOR_ALICE, "sell_house": True, "lookup_order": {"percent": 100}})
        await lists.settled()
        assert sum(each.told for each in heard.values()) == 2


async def test_growing_percentage_notifies_the_users_who_gain_the_tool() -> None:
    async with keeping() as lists:
        lists.flip(**{OFF: {"percent": 0}})
        await lists.settled()
        users = [Principal(user=f"user-{number}") for number in range(1000)]
        heard = {who: lists.connect(who)[1] for who in users}
        had: set[Principal] = set()
        for percent in (20, 20, 50, 100):
            before = {who: each.told for who, each in heard.items()}
            lists.flip(**{OFF: {"percent": percent}})
            await lists.settled()
            have = {who for who in users if OFF in {tool.name for tool in listed_by(lists, who)}}
            assert {who for who in users if heard[who].told > before[who]} == have - had
            had = have
        assert all(each.told == 1 for each in heard.values())


def listed_by(lists: Lists, who: Principal) -> list[Any]:
    return ToolAccess(registry_of(TOOLS), lists.flags).list_tools(who)


async def test_list_is_computed_once_for_all_clients_with_equal_rights() -> None:
    async with keeping() as lists:
        heard = [lists.connect(who)[1] for who in (ANYBODY, ALICE) for _ in range(500)]
        lists.digests.clear()
        lists.flip(**{OFF: False})
        await lists.settled()
        assert [each.told for each in heard] == [1] * 1000
        assert sorted(lists.digests, key=str) == sorted((ANYBODY, ALICE), key=str)


async def test_comparing_and_notifying_many_clients_yields_to_calls() -> None:
    """Each loop iteration compares a bounded number of lists and sends a bounded number of notifications."""
    async with keeping() as lists:
        heard = [lists.connect(Principal(user=f"user-{number}"))[1] for number in range(1000)]
        lists.digests.clear()
        most = last = 0
        lists.flip(**{OFF: False})
        await asyncio.sleep(WINDOW_SECONDS)
        while not all(each.told for each in heard):
            await asyncio.sleep(0)
            done = len(lists.digests) + sum(each.told for each in heard)
            most, last = max(most, done - last), done
        assert most <= 2 * audiences.SLICE


async def test_client_that_joins_after_a_change_is_not_notified_of_it() -> None:
    """The change was not yet compared when the client joined, and the client had listed no tools."""
    async with keeping() as lists:
        _, early = lists.connect()
        lists.flip(**{OFF: False})
        _, late = lists.connect()
        await lists.settled()
        assert (early.told, late.told) == (1, 0)


async def test_connection_is_notified_for_every_user_it_listed_tools_for() -> None:
    """An agent states the user per request: its lists are the anonymous one and those of its users."""
    async with keeping() as lists:
        lists.flip(**{OFF: False})
        await lists.settled()
        connection, heard = lists.connect(ANYBODY)
        stranger, unheard = lists.connect(ANYBODY)
        lists.changes.note_listed(session_of(connection), ALICE)
        lists.changes.note_listed(session_of(stranger), BOB)
        lists.flip(**{OFF: FOR_ALICE})
        await lists.settled()
        assert (heard.told, unheard.told) == (1, 0)
        for number in range(100):
            lists.changes.note_listed(session_of(connection), Principal(user=f"user-{number}"))
        (known,) = {len(client.lists) for client in [lists.changes._clients[connection]]}
        assert known == audiences.MOST_PRINCIPALS


async def test_slow_client_blocks_nobody_and_has_one_pending_notification() -> None:
    async with keeping() as lists:
        _, stuck = lists.connect(heard=Heard(reads=False))
        _, other = lists.connect()
        for number in range(20):
            lists.flip(**({} if number % 2 else {OFF: False}))
            await lists.settled()
        assert (other.told, stuck.begun) == (20, 1)
        stuck.read_on()
        await lists.settled()
        assert stuck.told == 2


async def test_session_is_notified_on_its_stream_and_once_of_what_it_missed() -> None:
    """On Streamable HTTP the stream opens after the client is ready, and again after a proxy cut it."""
    async with keeping() as lists:
        streams = lists.changes.streams
        _, heard = lists.connect(session="s1")
        lists.flip(**{OFF: False})
        await lists.settled()
        assert heard.told == 0
        streams.set_stream("s1", has_stream=True)
        await lists.settled()
        assert heard.told == 1
        streams.set_stream("s1", has_stream=False)
        for number in range(3):
            lists.flip(**({OFF: False} if number % 2 else {}))
            await lists.settled()
        assert heard.told == 1
        streams.set_stream("s1", has_stream=True)
        await lists.settled()
        assert heard.told == 2
        streams.set_stream("s1", has_stream=False)
        streams.set_stream("s1", has_stream=True)
        await lists.settled()
        assert heard.told == 2
        streams.set_stream("s2", has_stream=True)
        connection, early = lists.connect(session="s2")
        lists.flip(**{OFF: False})
        await lists.settled()
        assert (heard.told, early.told) == (3, 1), "its stream may be there first"
        await aclose_shielded(connection)
        streams.set_stream("s2", has_stream=False)
        assert not streams._notifiers.keys() - {"s1"}
        assert streams._open == {"s1"}


async def test_ended_connection_leaves_nothing_behind() -> None:
    """A notification was on its way to it, and it had reported ready several times."""
    async with keeping() as lists:
        connection, heard = lists.connect(heard=Heard(reads=False))
        for _ in range(3):
            lists.changes.join(session_of(connection), ALICE)
        assert len(lists.changes._clients) == 1
        lists.flip(**{OFF: False})
        await lists.settled()
        gone = weakref.ref(connection)
        await aclose_shielded(connection)
        assert len(lists.changes._clients) == 0
        del connection
        await lists.settled()
        gc.collect()
        assert gone() is None
        assert (heard.begun, heard.told) == (1, 0)


async def test_subscription_is_notified_of_its_own_tools_and_of_resource_updates() -> None:
    async with keeping() as lists:
        told: dict[Principal, list[ServerEvent]] = {ALICE: [], BOB: []}
        leave = [SubscriberBus(lists.changes, who).subscribe(events.append) for who, events in told.items()]
        lists.flip(**{OFF: {**FOR_ALICE}})
        await lists.settled()
        updated = ResourceUpdated("manga://policies/returns")
        await SubscriberBus(lists.changes, ALICE).publish(updated)
        await lists.bus.publish(ToolsListChanged())
        await lists.settled()
        assert told == {ALICE: [updated], BOB: [ToolsListChanged(), updated]}
        for each in leave:
            each()
            each()
        assert len(lists.changes._clients) == 0


async def test_change_reported_by_another_process_is_compared_here() -> None:
    async with keeping() as lists:
        looks: list[None] = []
        lists.changes.on_change(lambda: looks.append(None))
        _, heard = lists.connect()
        lists.flags.document = parse(json.dumps({OFF: False}).encode())
        await lists.bus.publish(ToolsListChanged())
        await lists.settled()
        assert (heard.told, len(looks)) == (1, 1)
        lists.flags.document = parse(b"{}")
        await lists.changes.publish_change(False)
        await lists.settled()
        assert (heard.told, len(looks)) == (2, 1), "who was told of it tells nobody again"
        await lists.changes.publish_change(True)
        assert len(looks) == 2


def test_tool_with_another_description_changes_the_list_and_another_handler_does_not() -> None:
    """The tool is replaced under its own name."""
    registry = registry_of(TOOLS)

    def digest_with(**changed: Any) -> str:
        tools = [replace(each, **changed) if each.name == OFF else each for each in TOOLS]
        own = registry_of(tools)
        return ToolListing(ToolAccess(own, Flags())).digest(ANYBODY)

    same = ToolListing(ToolAccess(registry, Flags())).digest(ANYBODY)
    assert digest_with() == digest_with(timeout_ms=1) == same
    for changed in ({"description": "another"}, {"title": "Another"}):
        assert digest_with(**changed) != same
