"""Who is believed, and for which tools."""

from __future__ import annotations

import pytest

from server.bearer import bearer_of
from server.call import Principal, Stated
from server.flags import Flags
from server.identity import TrustEverybody, TrustTokens
from server.tool_access import ToolAccess
from tests.support.pipeline import COMPILED
from tools.failures import Forbidden, InvalidArguments, ToolNotFound

LONG = "x" * 256


async def test_on_loopback_the_user_is_as_stated() -> None:
    everybody = TrustEverybody()
    assert everybody.admits(None)
    assert everybody.name("x") == everybody.name("y")
    assert await everybody.identify(Stated(user="u"), None) == Principal(user="u")
    with pytest.raises(InvalidArguments):
        await everybody.identify(Stated(user=LONG), None)


async def test_any_of_the_tokens_proves_the_agent_who_states_the_user() -> None:
    tokens = TrustTokens(["old", "new"])
    for bearer in ("old", "new"):
        assert tokens.admits(bearer)
        assert await tokens.identify(Stated(user="u"), bearer) == Principal(agent="agent", user="u")
    assert tokens.name("old") != tokens.name("new")
    assert "old" not in tokens.name("old")
    with pytest.raises(InvalidArguments):
        await tokens.identify(Stated(user=LONG), "old")


@pytest.mark.parametrize("bearer", [None, "", "ol", "old ", "OLD", "\udcff", "ö"])
async def test_anything_else_proves_nothing(bearer: str | None) -> None:
    tokens = TrustTokens(["old", "new"])
    assert not tokens.admits(bearer)
    with pytest.raises(Forbidden) as caught:
        await tokens.identify(Stated(user="u"), bearer)
    assert "old" not in caught.value.message
    assert not TrustTokens([]).admits(bearer)


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Bearer", None), ("Bearer ", None), ("Basic abc", None), ("", None)],
)
def test_a_bearer_token_is_read_from_its_header(header: str, token: str | None) -> None:
    assert bearer_of({"authorization": header}) == token


def test_a_tool_that_is_off_is_not_listed_and_not_found() -> None:
    access = ToolAccess(COMPILED, Flags({"check_inventory": 0.0}))
    assert [tool.name for tool in access.listed(Principal())] == [
        tool.name for tool in COMPILED if tool.name != "check_inventory"
    ]
    with pytest.raises(ToolNotFound, match="get_manga_details") as caught:
        access.check(COMPILED._by_name["check_inventory"].tool, Principal())
    assert caught.value.details["instead"]


def test_scopes_decide_the_tools() -> None:
    access = ToolAccess(COMPILED, Flags())
    granted = Principal(user="u", scopes=frozenset({"mcp:manga-tools:lookup_order"}))
    assert [tool.name for tool in access.listed(granted)] == ["lookup_order"]
    access.check(COMPILED._by_name["lookup_order"].tool, granted)
    with pytest.raises(Forbidden, match="mcp:manga-tools:check_inventory"):
        access.check(COMPILED._by_name["check_inventory"].tool, granted)
    assert access.listed(Principal(scopes=frozenset())) == []


def test_a_share_of_the_users_is_listed_the_tool() -> None:
    access = ToolAccess(COMPILED, Flags({"check_inventory": 50.0}))
    assert access.depends_on_user()
    seen = {len(access.listed(Principal(user=f"u{n}"))) for n in range(50)}
    assert seen == {4, 5}
    assert len(access.listed(Principal())) == 4, "without a user: what is on for everyone"


def test_no_text_of_a_call_shows_a_secret() -> None:
    from server.call import Call

    call = Call("id", COMPILED._by_name["lookup_order"], {}, Stated(user_token="hunter2"), 0.0, bearer="hunter3")
    assert "hunter" not in repr(call)
