"""Events of changes between processes: encoded, merged while they wait, and for their owner alone."""

from __future__ import annotations

import asyncio
import json

import pytest
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent, ToolsListChanged

from server.transport.changes import Pending, SessionResourceUpdated, decode_event, encode_event, event_for

pytestmark = pytest.mark.virtual_time

LISTS: list[ServerEvent] = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]
EVENTS: list[ServerEvent] = [*LISTS, ResourceUpdated("manga://返品"), SessionResourceUpdated("manga://history", "hers")]


async def test_event_is_decoded_by_every_process_but_its_sender_and_told_to_its_owner() -> None:
    """Up to 2048 bytes, however they are written. The owner is not named to clients."""
    for event in EVENTS:
        said = encode_event(event, "one")
        assert (decode_event(said, "other"), decode_event(said, "one")) == (event, None)
        assert decode_event(said.ljust(2048), "other") == event
        assert decode_event(said.ljust(2049), "other") is None
    assert json.loads(encode_event(EVENTS[-1], "one")) == {"from": "one", "resource": "manga://history", "owner": "hers"}
    assert decode_event(encode_event(ResourceUpdated("\ud800"), "one"), "other") == ResourceUpdated("?")
    own = SessionResourceUpdated("manga://history", "hers")
    assert event_for(own, {None, "hers"}) == ResourceUpdated("manga://history")
    assert type(event_for(own, {"hers"})) is ResourceUpdated
    assert [event_for(own, owners) for owners in ({None}, {"his"}, set())] == [None] * 3
    assert [event_for(each, set()) for each in EVENTS[:4]] == EVENTS[:4]


async def test_waiting_events_are_merged_and_bounded_and_those_of_lists_always_fit() -> None:
    pending: Pending[ServerEvent] = Pending()
    taking = asyncio.create_task(pending.take())
    await asyncio.sleep(1.0)
    assert not taking.done()
    updates = [ResourceUpdated(f"manga://{number}") for number in range(1025)]
    for each in (*updates, *LISTS, updates[0], LISTS[0]):
        pending.put(each)
    assert await taking == [*updates[:1024], *LISTS]
    taking = asyncio.create_task(pending.take())
    await asyncio.sleep(1.0)
    assert not taking.done()
    pending.put(updates[-1])
    assert await taking == updates[-1:]
