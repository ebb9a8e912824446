from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from server.call import VerifiedIdentity
from server.identity.request_metadata import VOUCHED
from server.transport.http.bodies import replay_body
from server.transport.http.responses import ACCEPTED, busy
from server.transport.http.slots import user_of
from server.transport.relay.forwarding import unavailable
from server.transport.relay.port import MESSAGES, Ack, Ask, Cancel, Pairs, Part, ProcessEnded, Progress, Relay, Unreached
from session.resilience.lru import Lru
from session.resilience.tasks import Tasks, start_task, wait_for

LARGEST_PART = 2**14
"""Maximum bytes of a part's body. With its head, it is below `carriers.LARGEST_MESSAGE`, so that parts stay in order."""
AGAIN_SECONDS = 0.05
STALL_SECONDS = 40.0
"""Timeout in seconds of a client that takes no parts; the process it is connected to drops it after 30."""
PATIENCE_SECONDS = 3.0
"""Seconds for which a part is sent again, enough to notice the end of the process that forwarded the request."""


logger = logging.getLogger(__name__)
MOST_OPEN = 8192
"""Maximum concurrent requests, most of them silent streams of sessions. One more gets 503."""
REMEMBERED = 16_384
"""Number of served requests that are remembered, to recognise duplicates."""
RETRY_SECONDS = 30.0
UNSERVED = b""


class _Served:
    """A request being served. Sends its response in parts to the process that forwarded it, no faster than the client reads.
    `left` is set once the client has left or cannot be reached, after which parts are dropped; `finished` at the end."""

    def __init__(self, relay: Relay, ask: Ask) -> None:
        self._relay = relay
        self.ask = ask
        self.left = asyncio.Event()
        self.finished = asyncio.Event()
        self._taken = 0
        """Number of parts that the client has taken."""
        self._client_changed = asyncio.Event()
        """Set at each change of `left` and `_taken`."""
        self._headers: Pairs = []
        self._order = 0
        self._is_whole = False
        self.status = 0
        """0 until the response has begun."""

    def leave(self) -> None:
        self.left.set()
        self._client_changed.set()

    def note_taken(self, parts: int) -> None:
        self._taken = max(self._taken, parts)
        self._client_changed.set()

    def waits_for(self, other: _Served) -> bool:
        """True if both are GET streams of one session, which may have one at a time, and the client has left `other`."""
        same = self is not other and self.ask.stream == other.ask.stream
        return same and self.ask.method == other.ask.method == "GET" and other.left.is_set()

    async def send(self, message: Message) -> None:
        """An ASGI `send`. The head goes with the first body, or that of a GET at once, since it may be silent for long."""
        if message["type"] == "http.response.start":
            self.status, self._headers = message["status"], list(message.get("headers", ()))
            if self.ask.method == "GET":
                await self._send_part(b"", more=True)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        while len(body) > LARGEST_PART:
            await self._send_part(body[:LARGEST_PART], more=True)
            body = body[LARGEST_PART:]
        if body or not more:
            await self._send_part(body, more=more)

    async def fail(self) -> None:
        """Ends an incomplete response, with an error if no part of it was sent. Does nothing if it is complete."""
        if self._order:
            await self._send_part(b"", more=False)
            return
        error = unavailable(self.ask.to, self.ask.body, "The process that holds this session could not answer.")
        self.status, self._headers = error.status_code, error.raw_headers
        await self._send_part(bytes(error.body), more=False)

    async def _send_part(self, body: bytes, *, more: bool) -> None:
        await self._wait_for_reader()
        if self.left.is_set() or self._is_whole:
            return
        part = Part(self._relay.own, self.ask.number, self._order, body, more)
        if self._order == 0:
            part = Part(part.sender, part.number, 0, body, more, self.status, self._headers)
        self._order += 1
        self._is_whole = not more
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._relay.send_until_received(self.ask.sender, part.encode(), AGAIN_SECONDS)
        except (ProcessEnded, TimeoutError):
            self.leave()

    async def _wait_for_reader(self) -> None:
        """Waits while the client is `window` parts behind (0: never). Drops a client that takes none for `STALL_SECONDS`."""
        while 0 < self.ask.window <= self._order - self._taken and not self.left.is_set():
            self._client_changed.clear()
            if not await wait_for(self._client_changed, STALL_SECONDS):
                self.leave()


class ForwardedRequests:
    """Serves each forwarded request with the application in `apps` that it names.

    A request that arrives twice runs only once. A duplicate from the same sender has the same number. If a client was told
    to retry a message that has run, the retry has the same digest, and only gets 202."""

    def __init__(self, relay: Relay, apps: Mapping[str, ASGIApp]) -> None:
        self._relay = relay
        self._apps = apps
        self._open: dict[tuple[str, int], _Served] = {}
        self._arrived: Lru[tuple[str, int], bytes] = Lru(REMEMBERED)
        """By sender and number, the digest of a message that has run; `UNSERVED` for all other requests."""
        self._told_to_retry: Lru[bytes, float] = Lru(REMEMBERED)
        """By digest of a message that has run, the time at which its client was told to retry."""
        self._tasks = Tasks()
        self.aclose = self._tasks.aclose

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, ask: Ask) -> None:
        """Starts to serve a request. A duplicate is acknowledged if the first is still running, else ignored."""
        key = ask.sender, ask.number
        if ask.to not in self._apps:
            return
        if self._arrived.use(key) is not None:
            if key in self._open:
                self._tasks.start(self._acknowledge(ask, 0.0), "relay-taken")
            return
        self._arrived.put(key, UNSERVED)
        served = self._open[key] = _Served(self._relay, ask)
        app = Response(status_code=ACCEPTED) if self._is_retry(ask) else self._apps[ask.to]
        self._tasks.start(self._serve(served, app), "relay-serve")

    def leave(self, left: Cancel) -> None:
        """Notes that a client has disconnected. Remembers a message that has run, if its client was told to retry it."""
        key = left.sender, left.number
        if (served := self._open.get(key)) is not None:
            served.leave()
        if left.of == MESSAGES and (digest := self._arrived.use(key)):
            self._told_to_retry.put(digest, time.monotonic())

    def note_progress(self, progress: Progress) -> None:
        if (served := self._open.get((progress.sender, progress.number))) is not None:
            served.note_taken(progress.parts)

    def senders(self) -> set[str]:
        return {sender for sender, _ in self._open}

    def lose(self, sender: str | None = None) -> None:
        """Ends the requests of `sender`; for None, the GET streams of all senders, whose clients then open new streams."""
        for (each, _), served in self._open.items():
            if each == sender or (sender is None and served.ask.method == "GET"):
                served.leave()

    async def _serve(self, served: _Served, app: ASGIApp) -> None:
        ask, left = served.ask, served.left
        # A request that is answered sooner needs no acknowledgement.
        acknowledging = start_task(self._acknowledge(ask, 0.1), "relay-taken")

        async def disconnect() -> Message:
            await left.wait()
            return {"type": "http.disconnect"}

        try:
            if len(self._open) > MOST_OPEN:
                app = busy("There are as many requests as this process takes.")
            await self._wait_for_stream(served)
            await app(_scope(ask), replay_body(ask.body, disconnect), served.send)
            if ask.to == MESSAGES and served.status == ACCEPTED:
                self._arrived.put((ask.sender, ask.number), ask.digest)
                if left.is_set():
                    self._told_to_retry.put(ask.digest, time.monotonic())
            await served.fail()
        except Exception:
            logger.exception("a request that another process passed on has failed")
            await served.fail()
        finally:
            acknowledging.cancel()
            served.finished.set()
            del self._open[ask.sender, ask.number]

    def _is_retry(self, ask: Ask) -> bool:
        told_at = self._told_to_retry.pop(ask.digest) if ask.to == MESSAGES else None
        return told_at is not None and time.monotonic() - told_at < RETRY_SECONDS

    async def _wait_for_stream(self, served: _Served) -> None:
        """Waits up to 1 s for the session's previous stream, which its client has left: the SDK refuses a second one."""
        if ending := [each for each in self._open.values() if served.waits_for(each)]:
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await asyncio.gather(*(each.finished.wait() for each in ending))

    async def _acknowledge(self, ask: Ask, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(Unreached):
            await self._relay.send(ask.sender, Ack(self._relay.own, ask.number).encode())


def _scope(ask: Ask) -> Scope:
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": ask.method,
        "scheme": ask.scheme,
        "path": ask.path,
        "root_path": "",
        "query_string": ask.query,
        "headers": ask.headers,
        "client": ask.client,
        "server": None,
        "manga.arrived": time.monotonic() - ask.waited_ms / 1000,
        VOUCHED: VerifiedIdentity(ask.bearer, ask.tokens),
    }
    if ask.user is not None:
        scope["user"] = user_of(ask.user)
    return scope
