"""The gate refuses hosts and addresses that it should not serve, and answers what a draining server cuts off."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from server.identity.request_metadata import InvalidToken, KeysUnavailable, TrustStated
from server.runtime.lifecycle import Lifecycle
from server.transport.http.authorization import Challenge
from server.transport.http.bodies import MOST_TARGET_BYTES
from server.transport.http.middleware import AllowedOrigins, Gate
from server.transport.http.slots import principal_of
from tests.support.cases import cases

REQUEST: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "raw_path": b"/mcp",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1:1"), (b"mcp-session-id", b"of-another-process")],
    "client": ("127.0.0.1", 2),
}


async def statuses(*, draining: bool, begins: bool = False) -> list[int]:
    """Of a request that is cancelled while it is served."""
    said: list[Message] = []
    served = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        served.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        said.append(message)

    gate = Gate(
        app, Lifecycle(draining=draining), AllowedOrigins("127.0.0.1", 1), TrustStated(), Challenge(), {}, lambda _: None
    )
    serving = asyncio.create_task(gate({**REQUEST}, receive, send))
    await served.wait()
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
    return [each["status"] for each in said if each["type"] == "http.response.start"]


async def test_request_cut_off_by_a_draining_server_gets_503() -> None:
    """uvicorn by itself would answer 500."""
    assert await statuses(draining=True) == [503]


async def test_started_answer_and_running_server_get_no_503() -> None:
    assert await statuses(draining=True, begins=True) == [200]
    assert await statuses(draining=False) == []


@cases(
    ("further", "ports"),
    [
        (("shop.example",), {"", ":8080"}),
        (("shop.example:*",), {"", ":8080", ":443"}),
        (("shop.example:443",), {":443"}),
        ((), set()),
    ],
)
def test_allowed_host_is_served_with_the_ports_that_its_entry_names(further: tuple[str, ...], ports: set[str]) -> None:
    allowed = AllowedOrigins("127.0.0.1", 8080, further)
    assert {port for port in ("", ":8080", ":443", ":x") if allowed.host(f"Shop.Example{port}")} == ports
    assert not any(allowed.host(name) for name in ("shop.exampl", "shop.example.org"))


async def test_path_and_query_are_limited_together() -> None:
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    half = MOST_TARGET_BYTES // 2
    for path, query in ((half, half), (half + 1, half + 1)):
        gate = Gate(Response(), Lifecycle(), AllowedOrigins("127.0.0.1", 1), TrustStated(), Challenge(), {}, lambda _: None)
        await gate({**REQUEST, "raw_path": b"/" * path, "query_string": b"q" * query}, receive, send)
    assert [each["status"] for each in said if each["type"] == "http.response.start"] == [200, 414]


def allowed(host: str, *further: str, hosts: tuple[str, ...]) -> list[str]:
    own = AllowedOrigins(host, 8080, further)
    return [each for each in hosts if own.host(each)]


def test_server_is_named_by_its_own_address_and_by_loopback_also_by_pages() -> None:
    """Not by the address of all interfaces. Loopback may have any port: of a proxy, or of a tunnel."""
    loopback = ("127.0.0.1", "localhost:1", "[::1]", "[::1]:99")
    for all_interfaces in ("0.0.0.0", "::"):  # noqa: S104
        hosts = (*loopback, all_interfaces, f"{all_interfaces}:8080", f"[{all_interfaces}]:8080", "127.0.0.2", "")
        assert allowed(all_interfaces, hosts=hosts) == list(loopback)
    hosts = (
        "10.0.0.7",
        "10.0.0.7:8080",
        "10.0.0.7:80",
        "localhost:",
        "localhost:x",
        "localhost:1:2",
        "[::1]x",
        "[::1",
        "::1",
    )
    assert allowed("10.0.0.7", hosts=hosts) == ["10.0.0.7", "10.0.0.7:8080", "localhost:"]
    hosts = ("[fd00::7]", "[fd00::7]:8080", "[fd00::7]:80", "fd00::7", "[fd00::8]")
    assert allowed("fd00::7", hosts=hosts) == ["[fd00::7]", "[fd00::7]:8080"]
    assert allowed("127.0.0.1", "[fd00::7]", "[fd00::9]:80", hosts=(*hosts, "[fd00::9]", "[fd00::9]:80")) == [
        "[fd00::7]",
        "[fd00::7]:8080",
        "[fd00::9]:80",
    ]
    assert not AllowedOrigins("127.0.0.1", 8080).host(None)
    passing = (None, "", "http://localhost", "https://127.0.0.1:8080")
    others = ("ftp://localhost", "localhost", "null", "http://localhost/", "http://localhost/a", "https://evil.example")
    told = [AllowedOrigins("127.0.0.1", 8080).origin(each) for each in (*passing, *others, "http://[::1")]
    assert told == [True] * 4 + [False] * 7


class Answered:
    """What a gate says to requests, and what it counts of them."""

    def __init__(self, *, draining: bool = False, identifier: TrustStated | None = None) -> None:
        self.counted: list[str] = []
        self.users: list[str | None] = []
        self.arrived: list[float] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            self.users.append(principal_of(scope))
            self.arrived.append(scope["manga.arrived"])
            await Response(status_code=scope.get("answer", 200))(scope, receive, send)

        async def short(scope: Scope, receive: Receive, send: Send) -> None:
            await Response(status_code=299)(scope, receive, send)

        allowed, challenge = AllowedOrigins("127.0.0.1", 1), Challenge()
        lifecycle, shortcuts = Lifecycle(draining=draining), {("GET", "/short"): short}
        refused = self.counted.append
        self.gate = Gate(app, lifecycle, allowed, identifier or TrustStated(), challenge, shortcuts, refused)

    async def status(self, path: str = "/mcp", method: str = "GET", **more: Any) -> int:
        """Headers are given beside the host's, or in its place."""
        headers = [(b"host", b"localhost"), *more.pop("headers", [])]
        said: list[Message] = []

        async def send(message: Message) -> None:
            said.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        asked = {**REQUEST, "path": path, "raw_path": path.encode(), "method": method, "headers": headers, **more}
        await self.gate(asked, receive, send)
        self.said = dict(said[0]["headers"])
        return int(said[0]["status"])


async def test_headers_are_limited_in_number_and_in_bytes() -> None:
    own = Answered()
    for number, status in ((99, 200), (100, 431)):  # and the host's
        assert await own.status(headers=[(b"a", b"b")] * number) == status
    for size, status in ((16 * 1024 - 14, 200), (16 * 1024 - 13, 431)):
        assert await own.status(headers=[(b"a", b"b" * size)]) == status
    assert own.counted == ["http_431"] * 2
    assert own.arrived[0] <= time.monotonic()


@cases(
    ("path", "headers", "status"),
    [
        ("/mcp", [], 503),
        ("/sse", [], 503),
        ("/mcp", [(b"mcp-session-id", b"s")], 200),
        ("/messages/", [], 200),
        ("/healthz", [], 200),
        ("/readyz", [], 200),
        ("/metrics", [], 200),
    ],
)
async def test_draining_server_begins_no_session_and_goes_on_with_those_it_has(
    path: str, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    own = Answered(draining=True)
    assert await own.status(path, headers=headers) == status
    assert own.counted == (["http_503"] if status == 503 else [])
    assert await Answered().status(path, headers=headers) == 200


@cases(("path", "probe"), [("/healthz", True), ("/readyz", True), ("/metrics", False), ("/mcp", False)])
async def test_probe_alone_may_come_by_any_host_and_origin(path: str, probe: bool) -> None:
    """A load balancer asks an address. The answers name what is wrong: they are counted by their status."""
    own = Answered()
    evil = [(b"origin", b"https://evil.example")]
    assert await own.status(path, headers=evil) == (200 if probe else 403)
    asked = {**REQUEST, "path": path, "raw_path": b"", "method": "GET"}
    for host in ([], [(b"host", b"evil.example")]):
        said: list[Message] = []

        async def send(message: Message, said: list[Message] = said) -> None:
            said.append(message)

        await own.gate({**asked, "headers": host}, _nothing, send)
        assert said[0]["status"] == (200 if probe else 421)
    assert own.counted == ([] if probe else ["http_403", "http_421", "http_421"])


async def _nothing() -> Message:
    raise AssertionError("a GET has no body")


@cases(
    ("name", "values", "status"),
    [
        (b"authorization", [b"a", b"b"], 400),
        (b"authorization", [b"a", b"a"], 200),
        (b"x-user-id", [b"a", b"b"], 400),
        (b"x-user-id", [b"a"], 200),
        (b"x-other", [b"a", b"b"], 200),
    ],
)
async def test_identity_that_comes_twice_is_refused_unless_both_are_the_same(
    name: bytes, values: list[bytes], status: int
) -> None:
    headers = [(name, value) for value in values]
    assert await Answered().status(headers=headers) == status
    for path in ("/metrics", "/.well-known/oauth-protected-resource/mcp"):
        assert await Answered().status(path, headers=headers) == 200


class Proved(TrustStated):
    """Admits who says yes, and nobody as long as its keys are unknown."""

    async def admit(self, bearer: str | None) -> str | None:
        if bearer == "later":
            raise KeysUnavailable
        if bearer != "yes":
            raise InvalidToken("A token is needed.")
        return "agent"


@cases(
    ("bearer", "status", "challenge"),
    [
        (b"Bearer yes", 200, None),
        (b"Bearer no", 401, b'Bearer error="invalid_token", error_description="A token is needed."'),
        (b"Basic eWVz", 401, b"Bearer"),
        (None, 401, b"Bearer"),
        (b"Bearer later", 503, None),
    ],
)
async def test_caller_is_authenticated_once_and_known_to_the_application(
    bearer: bytes | None, status: int, challenge: bytes | None
) -> None:
    own = Answered(identifier=Proved())
    headers = [] if bearer is None else [(b"authorization", bearer)]
    assert await own.status(headers=headers) == status
    assert own.said.get(b"www-authenticate") == challenge
    assert own.users == (["agent"] if status == 200 else [])
    for open_to_all in ("/healthz", "/readyz", "/metrics", "/.well-known/oauth-protected-resource"):
        assert await own.status(open_to_all) == 200


async def test_answers_from_400_on_are_counted_and_requests_of_a_holder_take_turns() -> None:
    """A message waits once it is whole, and a probe of life never does. A path that has a way of its own is asked there, by its method alone."""
    own = Answered()
    for status in (200, 399, 400, 404, 503):
        assert await own.status(answer=status) == status
    assert own.counted == ["http_400", "http_404", "http_503"]
    assert [await own.status("/short", method) for method in ("GET", "POST")] == [299, 200]
    for path, method in (("/mcp", "GET"), ("/sse", "DELETE"), ("/readyz", "GET"), ("/a", "GET")):
        assert await at_once_of(path, method) == 6
    for path, method in (("/healthz", "GET"), ("/mcp", "POST")):
        assert await at_once_of(path, method) == 7


async def at_once_of(path: str, method: str) -> int:
    """Of seven requests of one holder, how many need not wait for the next round of the loop."""
    own = Answered()
    asked = [asyncio.create_task(own.status(path, method)) for _ in range(7)]
    await asyncio.sleep(0)
    done = sum(task.done() for task in asked)
    await asyncio.gather(*asked)
    return done
