"""Reading requests' bodies, within bounds."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from pydantic_core import from_json
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.http.responses import busy, plain
from server.transport.http.slots import FULL, METHOD, Subscriptions, holder_of
from server.transport.messages import NO_EXTENSIONS, Extensions, excess

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 * 1024
"""A token, baggage and what proxies add fit several times over."""
MOST_TARGET_BYTES = 8 * 1024


class BoundedHead:
    """414 and 431 (RFC 6585, section 5), before anything looks at the headers: each look goes through all of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif len(scope["raw_path"]) + len(scope["query_string"]) > MOST_TARGET_BYTES:
            await plain(414, f"An address has at most {MOST_TARGET_BYTES} bytes.")(scope, receive, send)
        elif _too_large(scope["headers"]):
            most = f"{MOST_HEADERS} headers with {MOST_HEADER_BYTES} bytes"
            await plain(431, f"A request has at most {most}.")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _too_large(headers: list[tuple[bytes, bytes]]) -> bool:
    return len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > MOST_HEADER_BYTES


ANSWERED = ("elicitation", "roots", "sampling")
LONGEST_NAME = 128
"""Characters of what a client calls itself, its version, and the protocol's version that it asks for."""


@dataclass(frozen=True, slots=True)
class Posted:
    """`number` is the request's id; None for what is no request."""

    method: str
    number: types.RequestId | None
    params: dict[str, Any]
    size: int

    @classmethod
    def of_body(cls, body: bytes) -> Posted | None:
        """Reads it; None for what is no message: the SDK says why."""
        try:
            message = read_message(body)
        except (ValueError, RecursionError):
            return None
        method = message.get("method") if isinstance(message, dict) else None
        if not isinstance(method, str):
            return None
        number, params = message.get("id"), message.get("params")
        asked = number if isinstance(number, str | int) else None
        return cls(method, asked, params if isinstance(params, dict) else {}, len(body))

    @classmethod
    def of_message(cls, message: types.JSONRPCMessage, size: int) -> Posted | None:
        """Reads it; None for an answer."""
        if isinstance(message, types.JSONRPCRequest):
            return cls(message.method, message.id, message.params or {}, size)
        if isinstance(message, types.JSONRPCNotification):
            return cls(message.method, None, message.params or {}, size)
        return None


def trimmed_params(params: dict[str, Any], extensions: Extensions = NO_EXTENSIONS) -> dict[str, Any]:
    """Keeps of an initialize what is used of it, since the SDK keeps it for as long as the session or stream lasts: of what
    the client is capable of, whether it can be asked something, and what it says of `extensions`. What is malformed stays
    so."""
    kept = {name: _cut(params[name]) for name in ("protocolVersion",) if name in params}
    if "capabilities" in params:
        kept["capabilities"] = _used(params["capabilities"], extensions)
    if "clientInfo" in params:
        info = params["clientInfo"]
        kept["clientInfo"] = _named(info) if isinstance(info, dict) else None
    return kept


def trimmed_initialize(body: bytes, extensions: Extensions = NO_EXTENSIONS) -> bytes:
    """Does the same for a body that is known to be an initialize."""
    message = read_message(body)
    kept = {name: _cut(message[name]) for name in ("jsonrpc", "id", "method") if name in message}
    if isinstance(message.get("params"), dict):
        kept["params"] = trimmed_params(message["params"], extensions)
    return json.dumps(kept).encode()


def read_message(body: bytes) -> Any:
    """Reads as the more lenient of the SDK's two parsers: it takes half a surrogate and a byte order mark in the 2026
    era, and what the edge could not read would pass it unseen. Raises ValueError, RecursionError."""
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)


def _used(capabilities: Any, extensions: Extensions) -> dict[str, Any] | None:
    """Names what a client answers questions of, without how well, and the extensions that it shares with this server."""
    if not isinstance(capabilities, dict):
        return None
    asked: dict[str, Any] = {name: {} for name in ANSWERED if isinstance(capabilities.get(name), dict)}
    shared = extensions.understood(capabilities.get("extensions"))
    return asked | ({"extensions": shared} if shared else {})


def _named(info: dict[str, Any]) -> dict[str, Any]:
    return {name: _cut(info[name]) for name in ("name", "version") if name in info}


def _cut(value: Any) -> Any:
    """Keeps a text, at most so long, and a number; nothing of anything else."""
    if isinstance(value, str):
        return value[:LONGEST_NAME]
    return value if isinstance(value, int) else None


AT_ONCE = 6
"""Of one holder. Calls that go on together share trips to Redis and looks at the sockets: one by one, each would cost half
as much again. Each of them is a millisecond or two that the others wait."""


STATED = tuple(
    re.compile(rb'"com\.mangaassist/%b"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"((?:[^"\\]|\\.){1,512})"' % name)
    for name in (b"userId", b"sessionId")
)
"""How a message states for which user, or else in which session, it is. In a text of JSON it cannot stand: there its quotes
are escaped."""
NAMED_IN_HEADERS = (b"x-user-id", b"x-session-id", b"mcp-session-id")


def customer_of(body: bytes | bytearray, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Tells for whom a message is, as far as it says so: enough to share out turns, and proof of nothing."""
    for stated in STATED:
        if found := stated.search(body):
            return found[1]
    said = {name: value for name, value in headers if name in NAMED_IN_HEADERS}
    return next((said[name] for name in NAMED_IN_HEADERS if name in said), b"")


class FairQueue:
    """In each round of the event loop a few messages of each holder go on, in the order in which they came; the others wait.
    So whoever sends hundreds at once waits for them alone, and somebody with one for one (fair queueing; Nagle, RFC 970;
    Demers, Keshav and Shenker, SIGCOMM 1989). Who is alone loses nothing: a round is as short as what is done in it. The
    customers of one holder take turns at what is its own."""

    def __init__(self) -> None:
        self._gone_on: Counter[str] = Counter()
        """In this round, of each holder."""
        self._waiting: dict[str, dict[bytes, deque[asyncio.Future[None]]]] = {}
        """Of each holder by its customers, the next of them first."""

    async def next(self, holder: str, customer: bytes = b"") -> None:
        """Returns when a message of this holder, for this customer of its, may go on."""
        loop = asyncio.get_running_loop()
        if not self._gone_on:
            loop.call_soon(self._end_round)
        if self._gone_on[holder] < AT_ONCE:
            self._gone_on[holder] += 1
            return
        mine = loop.create_future()
        self._waiting.setdefault(holder, {}).setdefault(customer, deque()).append(mine)
        await mine

    def _end_round(self) -> None:
        self._gone_on.clear()
        for holder in list(self._waiting):
            self._let_on(holder, self._waiting[holder])
        if self._gone_on:
            asyncio.get_running_loop().call_soon(self._end_round)

    def _let_on(self, holder: str, waiting: dict[bytes, deque[asyncio.Future[None]]]) -> None:
        """Lets on the first of those that have not left, one of each customer in turn."""
        while waiting and self._gone_on[holder] < AT_ONCE:
            customer = next(iter(waiting))
            theirs = waiting.pop(customer)
            first = theirs.popleft()
            if not first.done():
                first.set_result(None)
                self._gone_on[holder] += 1
            if theirs:
                waiting[customer] = theirs
        if not waiting:
            del self._waiting[holder]


class InFairQueue:
    """Each request that brings no message; those are let on once they are whole (`Bodies`). Whoever asks whether the process
    lives waits for nobody."""

    def __init__(self, app: ASGIApp, queue: FairQueue, but: str) -> None:
        """`but` is a path."""
        self._app = app
        self._queue = queue
        self._but = but

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST" and scope["path"] != self._but:
            await self._queue.next(holder_of(scope))
        await self._app(scope, receive, send)


TOGETHER = 256
Headers = Iterable[tuple[bytes, bytes]]


class Bodies:
    """At most `most` bytes each, and 256 times as much of all that are being read: many that are sent slowly add up.

    One holder may have as much of that as is left over, which is half when it is alone and a third beside another: there
    is always room for one more (dynamic thresholds; Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._room = TOGETHER * most
        self._held: Counter[str] = Counter()
        self._queue = FairQueue()

    async def read(self, receive: Receive, holder: str, headers: Headers = ()) -> bytes | Response:
        """Returns the body, once it is its holder's turn to be served, and its customer's, or what to answer instead. Its
        values and their depth are bounded too."""
        body = bytearray()
        try:
            while True:
                part = await receive()
                if part["type"] != "http.request":
                    return plain(400, "The body is not whole.")  # the client has gone, and will not read this
                piece = part.get("body", b"")
                body += piece
                self._hold(holder, len(piece))
                if len(body) > self._most:
                    return plain(413, f"A message has at most {self._most} bytes.")
                if self._held[holder] > self._room:
                    return busy("There are as many messages on their way as this server reads at once.")
                if not part.get("more_body", False):
                    await self.turn(holder, customer_of(body, headers))
                    return bytes(body) if (wrong := excess(body)) is None else plain(413, wrong)
        finally:
            self._hold(holder, -len(body))

    async def turn(self, holder: str, customer: bytes = b"") -> None:
        """Returns when a message of this holder, for this customer of its, may go on."""
        await self._queue.next(holder, customer)

    def _hold(self, holder: str, size: int) -> None:
        self._held[holder] += size
        self._room -= size
        if not self._held[holder]:
            del self._held[holder]


def read_again(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` for whoever reads the body once more; what follows comes from the client as ever."""
    read = False

    async def receiving() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


MOST_BYTES = 32 * 1024
"""Of a message that is no call: a token, baggage and what a client says of itself. Only arguments are ever longer."""


class Admission:
    """Refuses what is too long for what it is, and one subscription too many. `extensions` are those that an introduction
    may name to some purpose."""

    def __init__(self, subscriptions: Subscriptions, extensions: Extensions = NO_EXTENSIONS) -> None:
        self._subscriptions = subscriptions
        self.extensions = extensions

    def refusal(self, scope: Scope, posted: Posted) -> Response | None:
        """Returns what to answer instead of letting the message in; None when it may pass."""
        if posted.method == "tools/call":
            return None
        if posted.size > MOST_BYTES:
            return plain(413, f"A message that is no call has at most {MOST_BYTES} bytes.")
        if posted.method == METHOD and not self._subscriptions.is_open_to(holder_of(scope)):
            return busy(FULL)
        return None
