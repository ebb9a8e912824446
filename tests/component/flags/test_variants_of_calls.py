"""A call's event carries the flag segment that decided it."""

from __future__ import annotations

import pytest

from server.identity.request_metadata import TrustTokens
from tests.support.pipeline import Kit, Opener

pytestmark = pytest.mark.virtual_time
IDS = {"title_ids": ["manga-000001"]}


async def test_call_event_carries_the_flag_segment_as_variant(kit: Kit) -> None:
    """A call that the flag refuses has `off`, and one of a tool without a flag has `on`."""
    staff = {"property": "user", "operator": "in", "value": ["ann"]}
    kit.switch(check_inventory={"segments": [{"name": "staff", "conditions": [staff]}]})
    assert (await kit.ask("check_inventory", IDS, user="ann")).failure is None
    assert (await kit.ask("check_inventory", IDS, user="bob")).failure == "TOOL_NOT_FOUND"
    assert (await kit.ask("search_manga_catalog", {"query": "cats"}, user="bob")).failure is None
    assert [event.variant for event in kit.events] == ["staff", "off", "on"]


async def test_percentage_without_a_user_goes_by_the_session(kit: Kit) -> None:
    """The same session always has the same variant."""
    kit.switch(check_inventory={"percent": 50})
    found = {n: {(await kit.ask("check_inventory", IDS, session=f"s{n}")).failure for _ in range(3)} for n in range(20)}
    assert all(len(each) == 1 for each in found.values())
    assert {None, "TOOL_NOT_FOUND"} == set().union(*found.values())


async def test_unauthenticated_call_has_no_variant(opener: Opener) -> None:
    kit = await opener(identifier=TrustTokens(["secret"]))
    assert (await kit.ask("check_inventory", IDS, bearer="wrong", user="ann")).failure == "FORBIDDEN"
    assert [event.variant for event in kit.events] == [None]


async def test_flag_condition_uses_the_proven_kind_of_caller(opener: Opener) -> None:
    """An agent with the secret vouches for the user; the kind of caller is the proven one."""
    kit = await opener(identifier=TrustTokens(["secret"]))
    vouched = {"property": "principal", "operator": "in", "value": ["token", "stated"]}
    kit.switch(check_inventory={"segments": [{"name": "others", "conditions": [vouched]}]})
    assert (await kit.ask("check_inventory", IDS, bearer="secret", user="ann")).failure == "TOOL_NOT_FOUND"
