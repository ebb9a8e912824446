"""`tools/list` states whether everybody gets the same list, which caches go by."""

from __future__ import annotations

from typing import Any

from server.call import Principal
from server.identity.tool_access import ToolAccess
from server.transport.tool_listing import ToolListing
from tests.support.cases import cases
from tests.support.flags import flags_of
from tests.support.pipeline import registered, registry_of
from tools.registry import TOOLS

ALICE, BOB = Principal(user="alice"), Principal(user="bob")
CONDITION = {"property": "user", "operator": "in", "value": ["alice"]}
FOR_ALICE = {"segments": [{"name": "hers", "conditions": [CONDITION]}]}
SAME = [{}, False, True, {"percent": 0}, {"percent": 100}, {"segments": [{"name": "all"}]}, {**FOR_ALICE, "enabled": False}]
DIFFERENT = [{"percent": 50}, FOR_ALICE, {"segments": [{"name": "some", "rollout": 1}]}]


def listing(flag: Any) -> ToolListing:
    flags = flags_of(**({"lookup_order": flag} if flag != {} else {}))
    return ToolListing(ToolAccess(registry_of(TOOLS), flags))


@cases("flag", SAME)
def test_tool_list_equal_for_everybody_is_public(flag: Any) -> None:
    own = listing(flag)
    assert own.result(ALICE)["cacheScope"] == "public"
    assert own.digest(ALICE) == own.digest(BOB) == own.digest(Principal())


@cases("flag", DIFFERENT)
def test_tool_list_that_depends_on_the_user_by_flags_is_private(flag: Any) -> None:
    """It is private even for users whose list is the common one."""
    own = listing(flag)
    for who in (ALICE, BOB, Principal()):
        assert own.result(who)["cacheScope"] == "private"


def test_tool_list_restricted_by_scopes_is_private() -> None:
    granted = Principal(user="alice", scopes=frozenset({registered("lookup_order").tool.scope}))
    own = listing({})
    assert own.result(granted)["cacheScope"] == "private"
    assert own.result(ALICE)["cacheScope"] == "public"
    assert own.digest(granted) != own.digest(ALICE)


def test_list_digests_differ_exactly_where_lists_do() -> None:
    own = listing(FOR_ALICE)
    assert own.digest(ALICE) != own.digest(BOB)
    assert own.digest(BOB) == own.digest(Principal())
    assert own.digest(ALICE) == listing({}).digest(BOB)
