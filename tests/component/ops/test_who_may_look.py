"""Who may open the operators' page, and the headers of its answers."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from server.call import Bearer, Principal, RequestMetadata
from server.config.settings import Settings
from server.identity.request_metadata import TrustStated
from server.ops.room import NOT_HERE, SCOPE, OpsAccess, is_from_this_machine
from tests.support.cases import cases
from tests.support.inprocess import InProcess, in_process
from tests.support.issuer import Issuer, issuing
from tests.support.ops import EVENTS, PAGE, watching
from tests.support.raw import Answer, Connection
from tools.store.failures import Forbidden

TOKEN, OTHER = "the-secret-of-the-agent", "another-secret-of-some-length"
BOTH = pytest.mark.parametrize("path", [PAGE, EVENTS])
ALWAYS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


def basic(password: str, user: str = "whoever") -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def asked(own: InProcess, path: str, headers: dict[str, str] | None = None, method: str = "HEAD") -> Answer:
    """HEAD tells what GET would, and has an end."""
    async with Connection.to(own.port) as connection:
        await connection.ask(method, path, headers=headers)
        return await (connection.answer() if method == "GET" else connection.begin())


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[InProcess]:
    async with in_process(settings=replace(Settings(), **settings)) as own:
        yield own


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as own:
        yield own


async def test_ops_page_on_loopback_is_one_document_with_a_strict_policy() -> None:
    async with serving() as own:
        answer = await asked(own, PAGE, method="GET")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(each.strip().split(" ", 1) for each in answer.headers["content-security-policy"].split(";"))
    html = answer.body.decode()
    for element in ("script", "style"):
        inside = re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        hashes = {f"'sha256-{base64.b64encode(sha256(each.encode()).digest()).decode()}'" for each in inside}
        assert inside
        assert set(policy.pop(f"{element}-src").split()) == hashes
    assert policy == {
        "default-src": "'none'",
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert not re.findall(
        r"""(?:src|href)=["'](?!data:|#)""", re.sub(r"<(script|style)>.*?</\1>", "", html, flags=re.DOTALL)
    )


@BOTH
async def test_every_answer_forbids_caching_framing_and_other_origins(path: str) -> None:
    async with serving(auth="token", auth_tokens=(TOKEN,)) as own:
        answers = [
            await asked(own, path, bearer(TOKEN)),
            await asked(own, path),
            await asked(own, path, bearer(TOKEN) | {"origin": "https://elsewhere.example"}),
            await asked(own, path, bearer(TOKEN), method="POST"),
        ]
    assert [each.status for each in answers] == [200, 401, 403, 405]
    for answer in answers:
        assert answer.headers.items() >= ALWAYS.items()
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@BOTH
async def test_browser_may_send_the_bearer_token_as_basic_password(path: str) -> None:
    async with serving(auth="token", auth_tokens=(TOKEN,)) as own:
        async with Connection.to(own.port) as connection:
            await connection.ask("HEAD", path)
            said = await connection.reader.readuntil(b"\r\n\r\n")
        assert b"\r\nwww-authenticate: Bearer" in said
        assert b'\r\nwww-authenticate: Basic realm="manga-tools ops", charset="UTF-8"\r\n' in said
        shown = [basic(TOKEN), basic(TOKEN, ""), basic(OTHER), basic(""), basic(f" {TOKEN}x"), {"authorization": "Basic ?"}]
        assert [(await asked(own, path, each)).status for each in shown] == [200, 200, 401, 401, 401, 401]
        assert (await asked(own, "/mcp", basic(TOKEN), method="GET")).status == 401
        assert "basic" not in str((await asked(own, "/mcp", method="GET")).headers).lower()


@BOTH
async def test_ops_page_needs_its_own_jwt_scope(path: str, issuer: Issuer) -> None:
    settings = {
        "auth": "jwt",
        "jwt_jwks_url": issuer.jwks_url,
        "jwt_issuer": issuer.name,
        "jwt_audience": (issuer.settings["MANGA_JWT_AUDIENCE"],),
    }
    async with serving(**settings) as own:
        tools = await asked(own, path, bearer(issuer.agents_token()))
        assert tools.status == 403
        assert f'scope="{SCOPE}"' in tools.headers["www-authenticate"]
        assert (await asked(own, path, bearer(issuer.agents_token("ops")))).status == 200
        assert (await asked(own, path, basic(issuer.token("demo-user-1", "ops")))).status == 200
        assert (await asked(own, path, bearer(issuer.token(exp=1)))).status == 401


async def test_token_that_expires_between_two_checks_gets_403() -> None:
    class Expired(TrustStated):
        async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
            raise Forbidden("The token has expired.")

    access = OpsAccess(replace(Settings(), auth="jwt"), Expired())
    scope = {"type": "http", "headers": [(b"authorization", b"Bearer x")], "client": ("127.0.0.1", 1)}
    refused = await access.refusal(scope, stream=False)
    assert refused is not None
    assert refused.status_code == 403
    assert not await access.still_allowed(scope)


@BOTH
async def test_foreign_origin_gets_403_and_foreign_host_gets_421(path: str) -> None:
    async with serving() as own:
        assert (await asked(own, path, {"origin": "https://elsewhere.example"})).status == 403
        async with Connection.to(own.port) as connection:
            await connection.send(f"HEAD {path} HTTP/1.1\r\nhost: rebound.example\r\n\r\n".encode())
            assert (await connection.begin()).status == 421


async def test_cross_site_stream_request_gets_403() -> None:
    """An image or a frame of another site sends no Origin; a navigation may open the page only."""
    async with serving() as own:
        for site in ("cross-site", "same-site"):
            assert (await asked(own, EVENTS, {"sec-fetch-site": site})).status == 403
            assert (await asked(own, PAGE, {"sec-fetch-site": site})).status == 200
        assert (await asked(own, EVENTS, {"sec-fetch-site": "same-origin"})).status == 200


@BOTH
async def test_remote_caller_without_authentication_is_refused(path: str) -> None:
    """MANGA_ALLOW_INSECURE does not admit it, and a loopback proxy that no setting names is refused too."""
    insecure = {"host": "0.0.0.0", "allow_insecure": True, "trusted_proxies": ("127.0.0.1",)}  # noqa: S104
    async with serving(**insecure) as own:
        assert (await asked(own, path)).status == 200
        refused = await asked(own, path, {"x-forwarded-for": "192.0.2.7"}, method="GET")
        assert (refused.status, refused.body.decode().strip()) == (403, NOT_HERE)
        assert (await asked(own, path, {"x-forwarded-for": "127.0.0.1"})).status == 200
    async with serving() as own:
        assert (await asked(own, path, {"x-forwarded-for": "127.0.0.1"})).status == 403


@cases(
    "told",
    [
        {"x-forwarded-for": "unknown"},
        {"x-forwarded-for": "_hidden"},
        {"x-forwarded-for": ""},
        {"x-forwarded-for": "192.0.2.7, junk, 127.0.0.1"},
        {"x-forwarded-for": "192.0.2.7:80:80"},
        {"forwarded": "for=127.0.0.1"},
        {"via": "1.1 somewhere"},
        {"x-real-ip": "127.0.0.1"},
        {"x-forwarded-proto": "http"},
    ],
    ids=lambda told: " ".join(*told.items()),
)
async def test_proxy_without_a_forwarded_address_is_refused(told: dict[str, str]) -> None:
    async with serving(trusted_proxies=("127.0.0.0/8",)) as own:
        assert (await asked(own, PAGE, told)).status == 403


async def test_forwarded_loopback_address_from_another_machine_is_refused() -> None:
    async with serving(trusted_proxies=("127.0.0.1", "192.0.2.0/24")) as own:
        assert (await asked(own, PAGE, {"x-forwarded-for": "127.0.0.1"})).status == 403
        assert (await asked(own, PAGE)).status == 200


@cases(
    ("client", "here"),
    [
        (("127.9.9.9", 1), True),
        (("::1", 1), True),
        (("::ffff:127.0.0.1", 1), True),
        (("::ffff:192.0.2.7", 1), False),
        (("unknown", 1), False),
        (None, False),
    ],
)
def test_caller_is_local_only_with_a_known_loopback_address(client: tuple[str, int] | None, here: bool) -> None:
    assert is_from_this_machine({"type": "http", "client": client, "headers": []}, ()) is here


async def test_disabled_ops_page_answers_404() -> None:
    async with serving(ops=False) as own:
        assert [(await asked(own, path)).status for path in (PAGE, EVENTS)] == [404, 404]
        assert len(own.app.listeners._listening) == 0


async def test_ops_page_is_rate_limited_apart_from_calls() -> None:
    async with in_process(limited=True) as own, Connection.to(own.port) as connection:
        answers = [await connection.request("GET", PAGE) for _ in range(45)]
        assert {each.status for each in answers[:40]} == {200}
        assert answers[-1].status == 429
        assert answers[-1].headers["retry-after"] == "1"
        assert (await connection.request("GET", "/sessions/somebody")).status == 200


async def test_head_request_opens_no_stream() -> None:
    async with serving() as own:
        answer = await asked(own, EVENTS)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert len(own.app.listeners._listening) == 0
        async with watching(own.port):
            assert len(own.app.listeners._listening) == 1
