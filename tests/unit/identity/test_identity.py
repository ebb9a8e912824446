"""Static tokens prove the agent; toolset, flags and scopes decide which tools a caller may use."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from server.call import Principal, RequestMetadata, VerifiedIdentity
from server.config.settings import Settings
from server.flags.document import Flags, parse
from server.identity.request_metadata import VOUCHED, InvalidToken, TrustStated, TrustTokens, bearer_in, bearer_of
from server.identity.tool_access import ToolAccess
from tests.support.cases import cases
from tests.support.listed import LISTED
from tests.support.pipeline import COMPILED, registered, registry_of
from tests.support.process import until
from tools.registry import CORE, TOOLS
from tools.store.failures import Forbidden, InvalidArguments, ToolNotFound

LONG = "x" * 256


async def test_user_on_loopback_is_believed_as_stated() -> None:
    everybody = TrustStated()
    assert await everybody.admit(None) is None
    assert await everybody.admit("x") is None
    assert await everybody.identify(RequestMetadata(user="u"), None) == Principal(user="u")
    assert await TrustStated("parent").identify(RequestMetadata(), None) == Principal(user="parent")
    assert await TrustStated("parent").identify(RequestMetadata(user="u"), None) == Principal(user="u")
    assert await everybody.vouch("x", {"a name": "y"}) == VerifiedIdentity()
    with pytest.raises(InvalidArguments):
        await everybody.identify(RequestMetadata(user=LONG), None)


async def test_each_configured_token_proves_the_agent_and_its_stated_user() -> None:
    tokens = TrustTokens(["old", "new"])
    for bearer in ("old", "new"):
        assert await tokens.admit(bearer)
        assert await tokens.identify(RequestMetadata(user="u"), bearer) == Principal(agent="agent", user="u")
        vouched = await tokens.vouch(bearer, {"a name": "y"})
        assert await tokens.identify(RequestMetadata(user="u"), vouched) == Principal(agent="agent", user="u")
    assert await tokens.admit("old") != await tokens.admit("new")
    assert "old" not in str(await tokens.admit("old"))
    with pytest.raises(InvalidArguments):
        await tokens.identify(RequestMetadata(user=LONG), "old")


@cases("bearer", [None, "", "ol", "old ", "OLD", "\udcff", "ö"])
async def test_any_other_token_is_refused(bearer: str | None) -> None:
    tokens = TrustTokens(["old", "new"])
    with pytest.raises(InvalidToken):
        await tokens.admit(bearer)
    with pytest.raises(Forbidden) as caught:
        await tokens.identify(RequestMetadata(user="u"), bearer)
    assert "old" not in caught.value.message
    for vouched in (await tokens.vouch(bearer, {}), VerifiedIdentity(1), VerifiedIdentity("old")):
        with pytest.raises(Forbidden):
            await tokens.identify(RequestMetadata(user="u"), vouched)
    with pytest.raises(InvalidToken):
        await TrustTokens([]).admit(bearer)


async def test_changed_token_file_is_followed_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The new token proves the agent and the removed one does not; a file missing for a moment changes nothing."""
    monkeypatch.setattr("server.config.sources.POLL_SECONDS", 0.01)
    file = tmp_path / "tokens"
    file.write_text("the-old-secret\n")
    settings = Settings(auth="token", auth_tokens_file=file)
    tokens = TrustTokens(settings.tokens())
    following = asyncio.create_task(tokens.follow(settings.tokens))
    try:
        file.write_text("the-old-secret\nthe-new-secret\n")
        await until(lambda: accepted(tokens, "the-new-secret"), 30, "the new secret is taken")
        assert await accepted(tokens, "the-old-secret")
        file.write_text("the-new-secret\n")
        await until(lambda: refused(tokens, "the-old-secret"), 30, "the old secret is taken no more")
        file.unlink()
        await until(
            lambda: "there is no token in it" in caplog.text or f"{file} cannot be read" in caplog.text, 10, "it is told"
        )
        assert "the last good version stays in use" in caplog.text
        assert await accepted(tokens, "the-new-secret")
        file.write_text("the-newest-secret\n")
        await until(lambda: accepted(tokens, "the-newest-secret"), 30, "it goes on")
    finally:
        following.cancel()
    assert "newest" not in caplog.text


async def accepted(tokens: TrustTokens, bearer: str) -> bool:
    try:
        return bool(await tokens.admit(bearer))
    except InvalidToken:
        return False


async def refused(tokens: TrustTokens, bearer: str) -> bool:
    return not await accepted(tokens, bearer)


@cases(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Bearer", None), ("Bearer ", None), ("Basic abc", None), ("", None)],
)
def test_bearer_token_is_read_from_the_authorization_header(header: str, token: str | None) -> None:
    assert bearer_of({"authorization": header}) == token
    others = [(b"accept", b"Bearer a"), (b"authorization", header.encode()), (b"cookie", b"Bearer c")]
    assert bearer_in({"headers": others}) == token
    assert bearer_in({"headers": others[::2]}) is None
    vouched = VerifiedIdentity(True)
    assert bearer_in({"headers": others, VOUCHED: vouched}) is vouched


def flags(content: bytes) -> Flags:
    return Flags(parse(content))


def check(access: ToolAccess, name: str, principal: Principal) -> None:
    tool = registered(name).tool
    access.check(tool, principal, access.decision(tool, principal))


def test_disabled_tool_is_not_listed_and_not_found() -> None:
    access = ToolAccess(COMPILED, flags(b'{"check_inventory": false}'))
    assert [tool.name for tool in access.list_tools(Principal())] == [name for name in LISTED if name != "check_inventory"]
    with pytest.raises(ToolNotFound, match="get_manga_details") as caught:
        check(access, "check_inventory", Principal())
    assert caught.value.details["instead"]
    assert [access.may_use(Principal(), None, name) for name in ("check_inventory", "lookup_order")] == [False, True]


def test_core_toolset_has_five_tools_and_refuses_the_others_as_switched_off() -> None:
    access = ToolAccess(COMPILED, Flags(), CORE)
    assert {tool.name for tool in access.list_tools(Principal())} == CORE
    with pytest.raises(ToolNotFound, match="switched off"):
        check(access, "get_ratings", Principal())


def test_scopes_of_a_token_decide_which_tools_are_listed_and_callable() -> None:
    access = ToolAccess(COMPILED, Flags())
    granted = Principal(user="u", scopes=frozenset({"mcp:manga-tools:lookup_order"}))
    assert [tool.name for tool in access.list_tools(granted)] == ["lookup_order"]
    check(access, "lookup_order", granted)
    with pytest.raises(Forbidden, match="mcp:manga-tools:check_inventory") as caught:
        check(access, "check_inventory", granted)
    assert caught.value.details == {"scope": "mcp:manga-tools:check_inventory"}
    assert access.may_use(granted, None, "lookup_order")
    assert not any(access.may_use(granted, None, name) for name in ("check_inventory", "no_such_tool"))
    assert access.list_tools(Principal(scopes=frozenset())) == []


def test_tool_on_for_half_of_the_users_is_listed_for_some_of_them() -> None:
    access = ToolAccess(COMPILED, flags(b'{"check_inventory": {"percent": 50}}'))
    assert access.depends_on_user()
    seen = {len(access.list_tools(Principal(user=f"u{n}"))) for n in range(50)}
    assert seen == {len(LISTED) - 1, len(LISTED)}
    assert len(access.list_tools(Principal())) == len(LISTED) - 1, "without a user: what is on for everyone"


def test_session_decides_calls_of_a_shared_tool_and_never_the_list() -> None:
    """Every caller without a user lists the same tools, whichever of them its session may call."""
    access = ToolAccess(COMPILED, flags(b'{"check_inventory": {"percent": 50}}'))
    tool = registered("check_inventory").tool
    assert {access.decision(tool, Principal(), f"s{n}").on for n in range(50)} == {True, False}
    assert not access.decision(tool, Principal()).on
    assert {access.may_use(Principal(), f"s{n}", tool.name) for n in range(50)} == {True, False}


def test_experimental_tool_is_off_unless_a_flag_turns_it_on() -> None:
    tools = [replace(tool, default_on=tool.name != "check_inventory") for tool in TOOLS]
    for content, listed in ((b"{}", False), (b'{"check_inventory": true}', True), (b'{"lookup_order": true}', False)):
        access = ToolAccess(registry_of(tools), flags(content))
        assert ("check_inventory" in {tool.name for tool in access.list_tools(Principal())}) is listed
        assert not access.depends_on_user()


def test_repr_of_a_call_shows_no_token() -> None:
    from server.call import Call

    call = Call("id", registered("lookup_order"), {}, RequestMetadata(user_token="hunter2"), 0.0, bearer="hunter3")
    assert "hunter" not in repr(call)
