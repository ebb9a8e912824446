"""MANGA_AUTH=jwt: which user and which agent a token proves, and what each may use."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from server.call import Principal, RequestMetadata, VerifiedIdentity
from server.config.settings import Settings
from server.identity.jwt import keys as issuer_keys
from server.identity.request_metadata import InvalidToken, TrustStated
from server.identity.tool_access import as_issued
from server.runtime.lifecycle import Background
from server.wiring import open_identifier
from tests.support.cases import cases
from tests.support.issuer import AUDIENCE, Issuer, scope
from tests.support.verifying import NOW, Verifying, verifying
from tools.registry import TOOLS
from tools.store.failures import DependencyFailure, Forbidden, InvalidArguments

ISSUER = Issuer(name="https://issuer.example")
SEARCH = frozenset({"mcp:manga-tools:search_manga_catalog"})
ORDERS = frozenset({"mcp:manga-tools:lookup_order"})


@pytest.fixture
async def own() -> AsyncIterator[Verifying]:
    async with verifying(ISSUER) as opened:
        yield opened


def token(subject: str = "u", *tools: str, **changes: object) -> str:
    return ISSUER.token(subject, *tools, **{"now": NOW, **changes})


def agents(*tools: str, **changes: object) -> str:
    return ISSUER.agents_token(*tools, **{"now": NOW, **changes})


async def identified(own: Verifying, bearer: str, **stated: Any) -> Principal:
    principal = await own.identifier.identify(RequestMetadata(**stated), bearer)
    assert await elsewhere(own, bearer, **stated) == principal
    return principal


async def elsewhere(own: Verifying, bearer: str, **stated: Any) -> Principal:
    """The same on another process, which has none of the tokens."""
    tokens = {"a name": stated["user_token"]} if stated.get("user_token") else {}
    told = to_json(asdict(await own.identifier.vouch(bearer, tokens)))
    assert not any(each.encode() in told for each in (bearer, *tokens.values()))
    named = {**stated, "user_token": "a name"} if tokens else stated
    return await own.identifier.identify(RequestMetadata(**named), VerifiedIdentity(**from_json(told)))


async def forbidden(own: Verifying, bearer: str | None, **stated: Any) -> str:
    with pytest.raises(Forbidden) as caught:
        await own.identifier.identify(RequestMetadata(**stated), bearer)
    if bearer is not None:
        with pytest.raises(Forbidden, match=re.escape(caught.value.message)):
            await elsewhere(own, bearer, **stated)
    return caught.value.message


async def test_subject_of_the_bearer_is_the_user(own: Verifying) -> None:
    principal = await identified(own, token("u", "lookup_order"))
    assert principal == Principal(agent="web-shop", user="u", scopes=ORDERS)
    assert await identified(own, token("u", "lookup_order"), user="u") == principal


async def test_stated_user_other_than_the_subject_is_forbidden(own: Verifying) -> None:
    for stated in ("v", "U", "u ", "\0not text"):
        with pytest.raises((Forbidden, InvalidArguments)):
            await identified(own, token("u"), user=stated)
    with pytest.raises(InvalidArguments):
        await identified(own, token("u"), user="u" * 256)


async def test_agent_token_alone_has_no_user_and_may_state_none(own: Verifying) -> None:
    """It may use tools that need no customer."""
    assert await identified(own, agents("search_manga_catalog")) == Principal("the-agent", None, SEARCH)
    assert "not the one whose token" in await forbidden(own, agents(), user="u")
    assert "not the one whose token" in await forbidden(own, agents(), user="the-agent")


async def test_user_token_beside_an_agent_token_names_user_and_scopes(own: Verifying) -> None:
    """The connection carries the agent's token, and each call that of its customer."""
    shared = agents("search_manga_catalog")
    for user in ("u", "v"):
        principal = await identified(own, shared, user_token=token(user, "lookup_order"))
        assert principal == Principal("the-agent", user, ORDERS)
    assert (await identified(own, shared, user_token=token("u"), user="u")).user == "u"
    assert await forbidden(own, shared, user_token=token("u"), user="v")


async def test_user_token_without_scopes_grants_nothing_whatever_the_agent_may(own: Verifying) -> None:
    for changes in ({"scope": None}, {"scope": ""}, {"scope": "openid aws.cognito.signin.user.admin"}):
        assert (await identified(own, agents(), user_token=token("u", **changes))).scopes == frozenset()


async def test_id_token_names_the_user_and_the_agent_token_the_scopes(own: Verifying) -> None:
    """In an ID token of Amazon Cognito `token_use` is id and `aud` is the app client."""
    id_token = token("u", scope=None, client_id=None, token_use="id")
    assert await identified(own, agents("search_manga_catalog"), user_token=id_token) == Principal("the-agent", "u", SEARCH)
    assert await identified(own, id_token) == Principal(None, "u", frozenset())


async def test_user_token_of_another_user_than_the_bearer_is_forbidden(own: Verifying) -> None:
    assert "two users'" in await forbidden(own, token("u"), user_token=token("v"))
    assert (await identified(own, token("u"), user_token=token("u", "lookup_order"))).scopes == ORDERS


@cases(
    "wrong",
    ["", "x", "\0not text", "Bearer x", token("u", aud="other"), token("u", now=NOW - 1000), token("u", iss="x"), agents()],
)  # fmt: skip
async def test_wrong_user_token_is_refused_and_not_replaced_by_the_bearer(wrong: str, own: Verifying) -> None:
    """The call is refused; it becomes neither one of the bearer's user nor an anonymous one."""
    for bearer in (agents(), token("u")):
        message = await forbidden(own, bearer, user_token=wrong)
        assert message.startswith("userToken: ")
        assert not wrong or wrong not in message


async def test_user_token_without_a_bearer_is_refused(own: Verifying) -> None:
    """Both the edge and the call require a bearer."""
    with pytest.raises(InvalidToken):
        await own.identifier.admit(None)
    assert await forbidden(own, None, user_token=token("u"))
    assert (await forbidden(own, "x")).startswith("Authorization: ")


KEYCLOAKS_NOTES = {"clientHost": "10.1.1.1", "clientAddress": "10.1.1.1"}


@cases(
    "claims",
    [
        {"sub": "c1", "client_id": "c1"},
        {"sub": "c1", "client_id": None, "azp": "c1"},
        {"sub": "c1", "client_id": None, "cid": "c1"},
        {"sub": "c1@clients", "client_id": None, "azp": "c1", "gty": "client-credentials"},
        {"sub": "0000", "client_id": None, "appid": "c1", "idtyp": "app"},
        {"sub": "0000", "client_id": "c1", "azp": "c1", "preferred_username": "service-account-c1", **KEYCLOAKS_NOTES},
    ],
    ids=["Cognito, RFC 9068", "azp", "Okta", "Auth0", "Entra", "Keycloak"],
)
async def test_agent_token_is_recognised_by_its_claims(claims: dict[str, Any], own: Verifying) -> None:
    assert await identified(own, token(**{"subject": "c1", **claims})) == Principal("c1", None, ALL)


@cases(
    "claims",
    [
        {"sub": "0000", "preferred_username": "service-account-web-shop"},
        {"sub": "0000", "preferred_username": "service-account-web-shop", "clientHost": "10.1.1.1"},
        {"sub": "0000", "preferred_username": "service-account-None", "client_id": None},
        {"sub": "web-shop", "preferred_username": "web-shop"},
        {"sub": "web-shop", "username": "web-shop"},
        {"sub": "web-shop", "email": "reader@example.com"},
        {"sub": "web-shop", "sid": "1"},
    ],
    ids=str,
)
async def test_user_whose_subject_looks_like_a_client_stays_a_user(claims: dict[str, Any], own: Verifying) -> None:
    """An agent has no limit of its own, so nobody may become one by the name they choose."""
    assert (await identified(own, token(**{"subject": "u", **claims}))).user == claims["sub"]


async def test_principals_differ_wherever_client_and_subject_are_joined(own: Verifying) -> None:
    holders = [token("c", client_id="a\0b"), token("b\0c", client_id="a"), token("c", client_id=None)]
    assert len({await own.identifier.admit(each) for each in holders}) == 3


ALL = frozenset(tool.scope for tool in TOOLS)


async def test_cognito_access_tokens_are_accepted_for_their_app_client() -> None:
    """Cognito's access tokens have no `aud`; MANGA_JWT_AUDIENCE names the app clients."""
    async with verifying(ISSUER, "web-shop", "manga") as own:
        users = token("u", aud=None, token_use="access", username="u", scope="openid manga/mcp:manga-tools:lookup_order")
        assert await identified(own, users) == Principal("web-shop", "u", ORDERS)
        with pytest.raises(InvalidToken):
            await own.identifier.admit(token("u", aud=None, token_use="access", client_id="another-app"))


@cases(
    ("claims", "granted"),
    [
        ({"scope": scope("lookup_order")}, ORDERS),
        ({"scope": f"openid  email {scope('lookup_order')} "}, ORDERS),
        ({"scope": "mcp:manga-tools/lookup_order"}, ORDERS),
        ({"scope": f"{AUDIENCE}/{scope('lookup_order')}"}, ORDERS),
        ({"scope": None, "scp": scope("lookup_order")}, ORDERS),
        ({"scope": None, "scp": [scope("lookup_order"), 7, None]}, ORDERS),
        ({"scope": None, "scopes": [scope("lookup_order")]}, ORDERS),
        ({"scope": f"other-api/{scope('lookup_order')}"}, set()),
        ({"scope": "other/mcp:manga-tools/lookup_order"}, set()),
        ({"scope": scope("lookup_order").upper()}, set()),
        ({"scope": "mcp:manga-tools"}, set()),
        ({"scope": "mcp:manga-tools/"}, set()),
        ({"scope": "mcp:manga-tools:*"}, set()),
        ({"scope": {"lookup_order": True}}, set()),
        ({"scope": None}, set()),
    ],
)
async def test_scopes_are_read_from_every_claim_and_form_that_issuers_use(
    claims: dict[str, Any], granted: set[str], own: Verifying
) -> None:
    """A scope counts only if it names a tool of this server; no wildcard stands for all tools."""
    found = (await identified(own, token("u", **claims))).scopes
    assert found is not None
    assert found & ALL == granted
    assert "mcp:manga-tools:" not in found, "a scope without a name"


def test_scopes_are_spelled_as_the_issuer_writes_them() -> None:
    cognito = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_abc"
    assert as_issued("mcp:manga-tools:lookup_order", cognito) == "mcp:manga-tools/lookup_order"
    assert as_issued("mcp:manga-tools:lookup_order", "https://x.eu.auth0.com/") == "mcp:manga-tools:lookup_order"


async def test_stream_belongs_to_a_user_of_a_client_across_refreshed_tokens(own: Verifying) -> None:
    """A refreshed token is accepted; that of another user, another client or the client itself is not."""

    async def principal(bearer: str) -> str | None:
        return await own.identifier.admit(bearer)

    first = await principal(token("u"))
    assert await principal(token("u", "lookup_order", now=NOW + 10)) == first
    others = [
        token("v"),
        token("u", client_id="another"),
        agents(),
        token("u", client_id=None),
        token("shopu", client_id="web-"),
    ]
    names = {first, *[await principal(each) for each in others]}
    assert len(names) == 1 + len(others)


@cases("local", [True, False])
async def test_stdio_trusts_its_parent_process_and_asks_no_issuer(local: bool) -> None:
    """This holds whatever MANGA_AUTH is: a machine's settings are those of its HTTP server too."""
    settings = Settings(auth="jwt", jwt_jwks_url="http://127.0.0.1:9/jwks", jwt_issuer="i", jwt_audience=("a",))
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        identifier = await open_identifier(settings, stack, Background(stack, print), local=local)
        assert isinstance(identifier, TrustStated) is local
        assert (asyncio.all_tasks() == before) is local
    assert asyncio.all_tasks() == before


async def test_call_without_issuer_keys_fails_as_retryable(monkeypatch: pytest.MonkeyPatch, own: Verifying) -> None:
    """Missing keys are no reason to refuse the caller's identity."""
    monkeypatch.setattr(issuer_keys.IssuerKeys, "current", None)
    own.keys._failures = 1
    with pytest.raises(DependencyFailure) as caught:
        await identified(own, token("u", now=NOW + 1))
    assert caught.value.retryable
    assert caught.value.retry_after_ms == 1000
