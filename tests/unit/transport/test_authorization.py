"""OAuth over HTTP: challenges that say where a token is got and what it has to grant, and tokens that lack a scope."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from server.call import Bearer, Principal, RequestMetadata
from server.identity.request_metadata import TrustStated
from server.transport.http.authorization import WELL_KNOWN, Challenge, ScopeCheck
from server.transport.messages import Posted
from tests.support.cases import cases
from tests.support.pipeline import registry_of
from tests.support.primitives import prompt, resource, template
from tools.primitive_registry import PrimitiveRegistry
from tools.registry import TOOLS
from tools.store.failures import Forbidden

ISSUER, COGNITO = "https://issuer.example", "https://cognito-idp.eu-west-1.amazonaws.com/pool"
SCOPES = ["mcp:manga-tools:a", "mcp:manga-tools:b"]


def scope(path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "scheme": "https",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"shop:1")],
    }


@cases(
    ("path", "resource"),
    [
        ("/mcp", "/mcp"),
        ("/sse", "/sse"),
        ("/messages/", "/sse"),
        ("/messages/x", "/sse"),
        ("/messages", ""),
        ("/", ""),
        ("/sessions/s", ""),
        ("/mcp/", ""),
    ],
)
def test_challenge_names_the_metadata_of_the_resource(path: str, resource: str) -> None:
    told = Challenge(ISSUER, lambda: SCOPES).for_token(scope(path), None)
    where = f'resource_metadata="https://shop:1/.well-known/oauth-protected-resource{resource}"'
    assert told == f'Bearer {where}, scope="{" ".join(SCOPES)}"'


def test_challenge_tells_an_invalid_token_from_a_missing_one_and_from_a_missing_scope() -> None:
    """Without an issuer nothing is told of where to get one, and a scope is spelled as its issuer does. A quote would end
    the sentence."""
    error = 'error="invalid_token", error_description="It is \'old\'."'
    assert Challenge().for_token(scope("/mcp"), None) == "Bearer"
    assert Challenge().for_token(scope("/mcp"), 'It is "old".') == f"Bearer {error}"
    told = Challenge(ISSUER, lambda: SCOPES[:1]).for_token(scope("/mcp"), 'It is "old".')
    where = "https://shop:1/.well-known/oauth-protected-resource/mcp"
    assert told == f'Bearer {error}, resource_metadata="{where}", scope="{SCOPES[0]}"'
    words = f'error="insufficient_scope", error_description="This needs the scope {SCOPES[0]}."'
    assert Challenge().for_scope(scope("/mcp"), SCOPES[0]) == f'Bearer {words}, scope="{SCOPES[0]}"'
    for issuer, spelled in ((ISSUER, SCOPES[0]), (COGNITO, "mcp:manga-tools/a")):
        told = Challenge(issuer, lambda: SCOPES).for_scope(scope("/mcp"), SCOPES[0])
        where = "https://shop:1/.well-known/oauth-protected-resource/mcp"
        assert told == f'Bearer {words}, resource_metadata="{where}", scope="{spelled}"'


@cases("path", ["", "/mcp", "/sse"])
async def test_metadata_of_a_resource_is_kept_for_an_hour_and_shared_with_nobody(path: str) -> None:
    answer = await Challenge(ISSUER, lambda: SCOPES, "Manga House").document(Request(scope(WELL_KNOWN + path)))
    assert answer.headers["cache-control"] == "private, max-age=3600"
    assert json.loads(bytes(answer.body)) == {
        "resource": f"https://shop:1{path}",
        "authorization_servers": [ISSUER],
        "scopes_supported": SCOPES,
        "bearer_methods_supported": ["header"],
        "resource_name": "Manga House tools",
    }


@dataclass
class Identified(TrustStated):
    """Takes each bearer for a token that grants these scopes; None for one that is no token of an issuer."""

    scopes: frozenset[str] | None
    fails: bool = False

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        assert (metadata, bearer) == (RequestMetadata(), "t")
        if self.fails:
            raise Forbidden("The token is not valid.")
        return Principal(scopes=self.scopes)


ORDER, HERS = "mcp:manga-tools:lookup_order", "mcp:manga-tools:hers"
TOOL = {"name": "lookup_order"}
USER_TOKEN = {"com.mangaassist/userToken": "a.b.c"}


async def refused(method: str, params: dict[str, Any], identifier: Identified) -> str | None:
    """The scope that is missing, as the challenge says."""
    primitives = PrimitiveRegistry(())
    for each in (resource(scope=HERS), template(scope=HERS), prompt(scope=HERS), prompt("free")):
        primitives.register(each)
    check = ScopeCheck(identifier, registry_of(TOOLS), primitives, Challenge())
    posted = Posted(method, 1, params, {}, is_strict=True)
    asked = scope("/mcp")
    asked["headers"].append((b"authorization", b"Bearer t"))
    response = await check.refusal(asked, posted)
    if response is None:
        return None
    assert response.status_code == 403
    missing = response.headers["www-authenticate"].partition(' scope="')[2].rstrip('"')
    assert bytes(response.body) == f"This needs the scope {missing}.\n".encode()
    return missing


@cases(
    ("method", "params", "needed"),
    [
        ("tools/call", TOOL, ORDER),
        ("tools/call", {"name": "unheard"}, None),
        ("tools/call", {"name": ["lookup_order"]}, None),
        ("tools/call", {}, None),
        ("tools/list", TOOL, None),
        ("resources/read", {"uri": "test://one"}, HERS),
        ("resources/subscribe", {"uri": "test://many/1"}, HERS),
        ("resources/read", {"uri": "test://none"}, None),
        ("prompts/get", {"name": "greet"}, HERS),
        ("prompts/get", {"name": "free"}, None),
        ("prompts/get", {"name": "unheard"}, None),
        ("completion/complete", {"ref": {"name": "greet"}}, HERS),
        ("completion/complete", {"ref": {"uri": "test://many/{which}"}}, HERS),
        ("completion/complete", {"ref": {"uri": "test://none"}}, None),
        ("completion/complete", {"ref": "greet"}, None),
        ("completion/complete", {}, None),
    ],
)
async def test_token_without_the_scope_that_a_request_needs_is_refused(
    method: str, params: dict[str, Any], needed: str | None
) -> None:
    assert await refused(method, params, Identified(frozenset())) == needed
    assert await refused(method, params, Identified(frozenset({"mcp:manga-tools:other"}))) == needed
    assert await refused(method, params, Identified(frozenset({ORDER, HERS}))) is None
    assert await refused(method, params, Identified(None)) is None


@cases(("meta", "fails"), [(USER_TOKEN, False), ({}, True), (USER_TOKEN, True)])
async def test_token_of_a_customer_and_one_that_is_invalid_are_left_to_the_call(meta: dict[str, str], fails: bool) -> None:
    assert await refused("tools/call", {**TOOL, "_meta": meta}, Identified(frozenset(), fails)) is None
    for other in ([], {}, {"x": 1}, None):
        assert await refused("tools/call", {**TOOL, "_meta": other}, Identified(frozenset())) == ORDER
