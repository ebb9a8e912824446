"""Requests that other processes pass on to this one, which holds their sessions: each is served as if it had come here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.call import Vouched
from server.identity.bearer import VOUCHED
from server.transport.http.responses import busy
from server.transport.relay.asking import in_place
from server.transport.relay.frames import MESSAGES, Ask, Left, Pairs, Part, Taken
from server.transport.relay.port import Gone, Relay, Unreached
from session.resilience.lru import Lru
from session.resilience.tasks import start_task

LARGEST_PART = 2**14
"""In bytes. With its head it stays below what goes through a channel (`over_redis.LARGEST_MESSAGE`): what waits in a key is
overtaken by what is sent behind it."""
AGAIN_SECONDS = 0.05
PATIENCE_SECONDS = 3.0
"""For which a part is said again that nobody took: as long as it takes to know whether its reader still lives."""
FAILED = "The process that holds this session could not answer."


class Reply:
    """`left` is set where nobody reads on: what is said then goes nowhere, as with a client's closed connection."""

    def __init__(self, relay: Relay, ask: Ask, left: asyncio.Event) -> None:
        self._relay = relay
        self._ask = ask
        self._left = left
        self._head: tuple[int, Pairs] | None = None
        self._order = 0
        self._whole = False

    @property
    def status(self) -> int:
        """0 where nothing was answered yet."""
        return self._head[0] if self._head else 0

    async def send(self, message: Message) -> None:
        """Passes a message of ASGI on. The head waits for the first of the body, but for a GET, whose stream may have
        nothing to say for long."""
        if message["type"] == "http.response.start":
            self._head = message["status"], list(message.get("headers", ()))
            if self._ask.method == "GET":
                await self._say(b"", more=True)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        while len(body) > LARGEST_PART:
            await self._say(body[:LARGEST_PART], more=True)
            body = body[LARGEST_PART:]
        if body or not more:
            await self._say(body, more=more)

    async def end(self) -> None:
        """Ends what the application has not."""
        if not self._whole and not self._left.is_set():
            await self.fail()

    async def fail(self) -> None:
        """Says so, or ends what was begun."""
        if self._order:
            await self._say(b"", more=False)
            return
        said = in_place(self._ask.to, self._ask.body, FAILED)
        self._head = said.status_code, said.raw_headers
        await self._say(bytes(said.body), more=False)

    async def _say(self, body: bytes, *, more: bool) -> None:
        if self._left.is_set() or self._whole:
            return
        status, headers = self._head or (500, ())
        part = Part(self._relay.own, self._ask.number, self._order, body, more, status, headers)
        self._order += 1
        self._whole = not more
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._until_taken(part.encoded())
        except (Gone, TimeoutError):
            self._left.set()

    async def _until_taken(self, message: bytes) -> None:
        while True:
            try:
                await self._relay.send(self._ask.sender, message)
            except Gone:
                raise
            except Unreached:
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return


logger = logging.getLogger(__name__)
MOST = 8192
"""Requests at once, most of them the silent streams of sessions; of one more its sender is told to come back."""
REMEMBERED = 16_384
"""Requests that are known to have come, after they are served."""
TAKEN_SECONDS = 0.1
"""What is answered sooner needs no word that it was taken."""
ENDING_SECONDS = 1.0
COMES_BACK_SECONDS = 30.0
ACCEPTED = 202
UNSERVED = b""


@dataclass(slots=True, eq=False)
class _Served:
    """`left` is set where nobody waits for the answer any more; `over` when it is served."""

    ask: Ask
    left: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def waits_for(self, other: _Served) -> bool:
        """Tells whether the other is a stream of the same session, of which there is one at a time, and about to end."""
        same = self is not other and self.ask.stream == other.ask.stream
        return same and self.ask.method == other.ask.method == "GET" and other.left.is_set()


class Serving:
    """`apps` are what serves each kind of session here, filled in before anybody asks.

    A request that comes again, because nobody knew whether it had come, runs once: by its number where its sender says it
    again, and by what it says where its client was told to come back, though it was running, and does."""

    def __init__(self, relay: Relay, apps: Mapping[str, ASGIApp]) -> None:
        self._relay = relay
        self._apps = apps
        self._open: dict[tuple[str, int], _Served] = {}
        self._came: Lru[tuple[str, int], bytes] = Lru(REMEMBERED)
        self._told_away: Lru[bytes, float] = Lru(REMEMBERED)
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def heard(self, ask: Ask) -> None:
        """Begins with it, unless it came before."""
        key = ask.sender, ask.number
        if ask.to not in self._apps:
            return
        if self._came.use(key) is not None:
            if key in self._open:
                self._run(self._say_taken(ask, 0.0), "relay-taken")
            return
        self._came.put(key, UNSERVED)
        served = self._open[key] = _Served(ask)
        self._run(self._serve(served, accepted if self._comes_back(ask) else self._apps[ask.to]), "relay-serve")

    def left(self, left: Left) -> None:
        """Tells the application that the client has gone. A message that was told to come back has run all the same."""
        key = left.sender, left.number
        if (served := self._open.get(key)) is not None:
            served.left.set()
        if left.of == MESSAGES and (digest := self._came.use(key)):
            self._told_away.put(digest, time.monotonic())

    def senders(self) -> set[str]:
        return {sender for sender, _ in self._open}

    def lose(self, sender: str | None = None) -> None:
        """Ends what this process asked; with None the streams of all, who have lost their way here too, and ask again."""
        for (each, _), served in self._open.items():
            if each == sender or (sender is None and served.ask.method == "GET"):
                served.left.set()

    async def aclose(self, seconds: float) -> None:
        """Lets what is under way come to its end for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, served: _Served, app: ASGIApp) -> None:
        ask, left = served.ask, served.left
        reply, body = Reply(self._relay, ask, left), _Body(ask.body, left)
        taken = start_task(self._say_taken(ask, TAKEN_SECONDS), "relay-taken")
        try:
            if len(self._open) > MOST:
                app = busy("There are as many requests as this process takes.")
            await self._when_free(served)
            await app(_scope(ask), body.receive, reply.send)
            if ask.to == MESSAGES and reply.status == ACCEPTED:
                self._note_run(ask, told_away=left.is_set())
            await reply.end()
        except Exception:
            logger.exception("a request that another process passed on has failed")
            await reply.fail()
        finally:
            taken.cancel()
            served.over.set()
            del self._open[ask.sender, ask.number]

    def _note_run(self, ask: Ask, *, told_away: bool) -> None:
        self._came.put((ask.sender, ask.number), ask.digest)
        if told_away:
            self._told_away.put(ask.digest, time.monotonic())

    def _comes_back(self, ask: Ask) -> bool:
        """Tells whether this message runs already, and its client was told that nobody has it."""
        told_at = self._told_away.pop(ask.digest) if ask.to == MESSAGES else None
        return told_at is not None and time.monotonic() - told_at < COMES_BACK_SECONDS

    async def _when_free(self, served: _Served) -> None:
        """Waits until the stream has ended that its client has lost, or it would be refused."""
        if ending := [each for each in self._open.values() if served.waits_for(each)]:
            with suppress(TimeoutError):
                async with asyncio.timeout(ENDING_SECONDS):
                    await asyncio.gather(*(each.over.wait() for each in ending))

    async def _say_taken(self, ask: Ask, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(Unreached):
            await self._relay.send(ask.sender, Taken(self._relay.own, ask.number).encoded())

    def _run(self, work: Coroutine[None, None, None], name: str) -> None:
        task = start_task(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def accepted(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a message that has run already: its answer is on the stream."""
    await Response(status_code=ACCEPTED)(scope, receive, send)


class _Body:
    """The body once, then whether the client has gone."""

    def __init__(self, body: bytes, left: asyncio.Event) -> None:
        self._body: bytes | None = body
        self._left = left

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}


def _scope(ask: Ask) -> Scope:
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": ask.method,
        "scheme": ask.scheme,
        "path": ask.path,
        "raw_path": ask.path.encode(),
        "root_path": "",
        "query_string": ask.query,
        "headers": ask.headers,
        "client": ask.client,
        "server": None,
        "manga.arrived": time.monotonic() - ask.waited_ms / 1000,
        VOUCHED: Vouched(ask.bearer, ask.tokens),
    }
    if ask.user is not None:
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=ask.user, scopes=[]))
    return scope
