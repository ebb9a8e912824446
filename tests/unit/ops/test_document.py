"""The operators' page is assembled into one document; a wrong page file is refused."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest

from server.call import Bearer, Principal, RequestMetadata
from server.config.settings import Settings
from server.identity.request_metadata import TrustStated
from server.ops.room import BASIC, GUARDED, NOT_HERE, SCOPE, OpsAccess, guard, page
from tests.support.cases import cases
from tools.store.failures import DependencyFailure, Forbidden

HTML = '<head><link rel="stylesheet" href="a.css"></head><script src="b.js"></script><script src="c.js"></script>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"page.html": HTML, "a.css": "p{}", "b.js": "one()", "c.js": "two()"}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def test_page_files_are_inlined_and_allowed_by_their_hashes_alone(folder: Path) -> None:
    html, policy = page(folder)
    assert html.decode() == "<head><style>p{}</style></head><script>one()</script><script>two()</script>"
    said = policy.decode()
    assert f"style-src {hashed('p{}')}; script-src {hashed('one()')} {hashed('two()')};" in said
    assert "unsafe" not in said


def test_page_without_scripts_allows_no_script(folder: Path) -> None:
    (folder / "page.html").write_text("<p>", "utf-8")
    assert b"style-src 'none'; script-src 'none';" in page(folder)[1]


@pytest.mark.parametrize(
    ("name", "text"), [("b.js", "'</script>'"), ("b.js", "'</SCRIPT'"), ("c.js", "'<!--'"), ("a.css", "/*</style*/")]
)
def test_file_that_would_close_its_own_tag_is_refused_by_name(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=f"^{name} cannot stand inside the page$"):
        page(folder)


def test_missing_page_file_is_an_error(folder: Path) -> None:
    (folder / "c.js").unlink()
    with pytest.raises(FileNotFoundError):
        page(folder)


async def answered(scope: dict[str, Any], *headers: tuple[bytes, bytes], status: int = 200) -> tuple[Any, Any, Any]:
    """What the app behind the guard is asked, and whether by the guard; and the headers of the answer."""
    seen: list[Any] = []
    sent: list[Any] = []

    async def app(asked: Any, receive: Any, send: Any) -> None:
        seen.append(asked)
        await send({"type": "http.response.start", "status": status, "headers": [*headers]})
        await send({"type": "http.response.body", "body": b"x", "headers": "untouched"})

    async def send(message: Any) -> None:
        sent.append(message)

    await guard(app)(scope, cast(Any, None), send)
    assert sent[1] == {"type": "http.response.body", "body": b"x", "headers": "untouched"}
    return seen[0], seen[0] is not scope, sent[0]["headers"]


async def test_guard_sets_its_headers_on_the_paths_of_the_page_alone() -> None:
    own, policy = ((b"cache-control", b"public"), (b"x-own", b"1")), (b"content-security-policy", b"of the page")
    nothing = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
    for path in ("/ops", "/ops/events"):
        scope = {"type": "http", "path": path, "headers": []}
        assert await answered(scope, *own) == (scope, True, [own[1], *GUARDED, nothing])
        assert await answered(scope, *own, policy) == (scope, True, [own[1], policy, *GUARDED])
        for status, offer in ((400, []), (401, [BASIC]), (402, [])):
            assert (await answered(scope, status=status))[2] == [*GUARDED, nothing, *offer]
    for scope in ({"type": "http", "path": "/ops/other"}, {"type": "websocket", "path": "/ops"}, {"type": "lifespan"}):
        assert await answered(scope, *own) == (scope, False, [*own])


def basic(text: bytes) -> bytes:
    return base64.b64encode(text)


@cases(
    ("sent", "heard"),
    [
        (b"Basic " + basic(b"user:secret"), b"Bearer secret"),
        (b"bASIC   " + basic(b":a:b") + b" ", b"Bearer a:b"),
        (b"Basic " + basic(b"secret"), None),
        (b"Basic " + basic(b"user:"), None),
        (b"Basic " + basic(b"user: "), None),
        (b"Basic !" + basic(b"user:secret"), None),
        (b"Basic " + basic(b"user:secret")[:-1], None),
        (b"Basic \xff", None),
        (b"Basic", None),
        (b"Bearer " + basic(b"user:secret"), None),
        (b"Adigest " + basic(b"user:secret"), None),
    ],
)
async def test_password_of_basic_becomes_the_bearer_token(sent: bytes, heard: bytes | None) -> None:
    names = (b"accept", b"authorization", b"x-other")
    asked, _, _ = await answered({"type": "http", "path": "/ops", "headers": [(name, sent) for name in names]})
    assert asked["headers"] == list(zip(names, (sent, heard or sent, sent), strict=True))


class Says(TrustStated):
    """An identifier of another mind."""

    def __init__(self, said: Principal | Exception) -> None:
        super().__init__()
        self.said = said

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


@cases(
    ("said", "status", "stays"),
    [
        (Principal("a", "u"), None, True),
        (Principal("a", "u", frozenset({SCOPE})), None, True),
        (Principal("a", "u", frozenset({"other"})), 403, False),
        (Principal("a", "u", frozenset()), 403, False),
        (Forbidden("no"), 403, False),
        (DependencyFailure("no", dependency="keys"), 503, True),
    ],
)
async def test_token_needs_the_scope_of_the_page_when_it_begins_and_later(
    said: Any, status: int | None, stays: bool
) -> None:
    """Keys that are out of reach end no stream."""
    access = OpsAccess(Settings(), Says(said))
    scope = {"type": "http", "headers": [], "client": ("127.0.0.1", 1)}
    refused = await access.refusal(scope, stream=True)
    assert (refused.status_code if refused else None) == status
    assert await access.still_allowed(scope) is stays


async def test_caller_from_elsewhere_or_of_another_site_is_refused() -> None:
    async def refused(auth: str, client: str, site: str = "", *, stream: bool = True) -> tuple[int, bytes] | None:
        headers = [(b"sec-fetch-site", site.encode())] if site else []
        scope = {"type": "http", "headers": headers, "client": (client, 1)}
        answer = await OpsAccess(Settings(auth=auth), TrustStated()).refusal(scope, stream=stream)
        return None if answer is None else (answer.status_code, bytes(answer.body).strip())

    assert await refused("none", "192.0.2.7") == (403, NOT_HERE.encode())
    for auth in ("jwt", "token"):
        assert await refused(auth, "192.0.2.7") is None
    for site, told in (("", None), ("none", None), ("same-origin", None), ("same-site", 403), ("cross-site", 403)):
        answer = await refused("none", "127.0.0.1", site)
        assert (answer[0] if answer else None) == told
        assert await refused("none", "127.0.0.1", site, stream=False) is None
