from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from server.transport.http.responses import busy, plain
from server.transport.http.slots import FULL, METHOD, Subscriptions, customer_of
from server.transport.messages import NO_EXTENSIONS, Extensions, reason_too_large

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 * 1024
"""Maximum bytes of all headers, several times the size of a token, baggage and the headers that proxies add."""
MOST_TARGET_BYTES = 8 * 1024

MESSAGES_PER_ROUND = 6
"""Messages of one holder per round of the event loop. Calls that pass together share round trips to Redis. If they passed
one by one, each would cost half as much again. A message delays other holders by a millisecond or two."""
STATED = tuple(
    re.compile(rb'"com\.mangaassist/%b"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"((?:[^"\\]|\\.){1,512})"' % name)
    for name in (b"userId", b"sessionId")
)
"""Patterns of a message's stated user or session. They cannot match within a JSON string: quotes are escaped there."""
MOST_BYTES = 32 * 1024
"""Maximum bytes of a message that is not a tool call: room for a token, baggage and the client's self-description."""


def customer_of_message(body: bytes | bytearray, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns the user or session stated in the message or headers, else b"". Unverified: for fair queueing alone."""
    for stated in STATED:
        if found := stated.search(body):
            return found[1]
    return customer_of(headers)


class FairQueue:
    """Fair queueing of messages (Nagle, RFC 970; Demers, Keshav and Shenker, SIGCOMM 1989). Each round of the event loop
    admits `MESSAGES_PER_ROUND` messages per holder (principal or address), in turn for the holder's customers. So a holder
    that sends hundreds at once delays only its own messages. `wait_turn` returns once a message may pass."""

    def __init__(self) -> None:
        self._passed: Counter[str] = Counter()
        """Messages passed in this round, by holder."""
        self._waiting: dict[str, dict[bytes, deque[asyncio.Future[None]]]] = {}
        """Waiting messages by holder and customer, the next customer first."""

    async def wait_turn(self, holder: str, customer: bytes = b"") -> None:
        loop = asyncio.get_running_loop()
        if not self._passed:
            loop.call_soon(self._end_round)
        if self._passed[holder] < MESSAGES_PER_ROUND:
            self._passed[holder] += 1
            return
        turn = loop.create_future()
        self._waiting.setdefault(holder, {}).setdefault(customer, deque()).append(turn)
        await turn

    def _end_round(self) -> None:
        self._passed.clear()
        for holder in list(self._waiting):
            self._pass_next(holder, self._waiting[holder])
        if self._passed:
            asyncio.get_running_loop().call_soon(self._end_round)

    def _pass_next(self, holder: str, waiting: dict[bytes, deque[asyncio.Future[None]]]) -> None:
        while waiting and self._passed[holder] < MESSAGES_PER_ROUND:
            customer = next(iter(waiting))
            turns = waiting.pop(customer)
            first = turns.popleft()
            if not first.done():
                first.set_result(None)
                self._passed[holder] += 1
            if turns:
                waiting[customer] = turns
        if not waiting:
            del self._waiting[holder]


TOTAL_FACTOR = 256
Headers = Iterable[tuple[bytes, bytes]]


class UnfinishedMessages:
    """Limits the total bytes of incomplete messages to `most`. A holder may have at most as many bytes as remain free, so
    that there is always room for a new holder (dynamic thresholds; Choudhury and Hahne, IEEE/ACM Transactions on Networking
    6, 1998)."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._held: Counter[Hashable] = Counter()

    def hold(self, holder: Hashable, size: int) -> bool:
        """Adds `size` bytes, or removes them if negative. Returns False if the holder then has more bytes than are free."""
        self._held[holder] += size
        self._room -= size
        if not self._held[holder]:
            del self._held[holder]
        return self._held[holder] <= self._room

    def release(self, holder: Hashable) -> None:
        self.hold(holder, -self._held[holder])


class Bodies(UnfinishedMessages):
    """Reads request bodies of at most `most` bytes each, and `TOTAL_FACTOR` times as many bytes in total."""

    def __init__(self, most: int) -> None:
        super().__init__(TOTAL_FACTOR * most)
        self._most = most
        self.queue = FairQueue()

    async def read(self, receive: Receive, holder: str, headers: Headers = ()) -> bytes | Response:
        """Returns the complete body once the fair queue admits it, or the response that refuses it. Until then the received
        bytes count for `holder`. Also refuses a body with too many or too deeply nested JSON values."""
        body = bytearray()
        try:
            while True:
                part = await receive()
                if part["type"] != "http.request":
                    return plain(400, "The body is not whole.")  # the client has gone, and will not read this
                piece = part.get("body", b"")
                body += piece
                has_room = self.hold(holder, len(piece))
                if len(body) > self._most:
                    return plain(413, f"A message has at most {self._most} bytes.")
                if not has_room:
                    return busy("There are as many messages on their way as this server reads at once.")
                if not part.get("more_body", False):
                    await self.queue.wait_turn(holder, customer_of_message(body, headers))
                    return bytes(body) if (excess := reason_too_large(body)) is None else plain(413, excess)
        finally:
            self.hold(holder, -len(body))


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that yields `body` first, and then the client's further messages."""
    unread = [body]

    async def receiving() -> Message:
        return {"type": "http.request", "body": unread.pop(), "more_body": False} if unread else await receive()

    return receiving


@dataclass(eq=False)
class Admission:
    """Refuses messages that are too long for their method, and subscriptions beyond the limit. `extensions` are the MCP
    extensions that a client may declare."""

    subscriptions: Subscriptions
    extensions: Extensions = NO_EXTENSIONS

    def refusal(self, scope: Scope, method: str, size: int) -> Response | None:
        if method == "tools/call":
            return None
        if size > MOST_BYTES:
            return plain(413, f"A message that is not a call has at most {MOST_BYTES} bytes.")
        if method == METHOD and not self.subscriptions.has_room_for(scope):
            return busy(FULL)
        return None
