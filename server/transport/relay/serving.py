"""Requests that other processes pass on to this one, which holds their sessions: each is served as if it had come here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Message, Scope

from server.transport.http.responses import busy
from server.transport.relay.frames import Ask, Left
from server.transport.relay.post import Relay
from server.transport.relay.reply import Reply
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

MOST = 8192
"""Requests at once, most of them the silent streams of sessions; of one more its sender is told to come back."""


class Serving:
    """`apps` are what serves each kind of session here, filled in before anybody asks."""

    def __init__(self, relay: Relay, apps: Mapping[str, ASGIApp]) -> None:
        self._relay = relay
        self._apps = apps
        self._open: dict[tuple[str, int], asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def heard(self, ask: Ask) -> None:
        """Begins with it, unless it came before."""
        key = ask.sender, ask.number
        if ask.to not in self._apps or key in self._open:
            return
        left = self._open[key] = asyncio.Event()
        task = start_task(self._serve(ask, left), "relay-serve")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def left(self, left: Left) -> None:
        """Tells the application that the client has gone."""
        if (gone := self._open.get((left.sender, left.number))) is not None:
            gone.set()

    def senders(self) -> set[str]:
        return {sender for sender, _ in self._open}

    def lose(self, sender: str) -> None:
        for (each, _), left in self._open.items():
            if each == sender:
                left.set()

    async def aclose(self, seconds: float) -> None:
        """Lets what is under way come to its end for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, ask: Ask, left: asyncio.Event) -> None:
        reply, body = Reply(self._relay, ask, left), _Body(ask.body, left)
        app = busy("There are as many requests as this process takes.") if len(self._open) > MOST else self._apps[ask.to]
        try:
            await app(_scope(ask), body.receive, reply.send)
            await reply.end()
        except Exception:
            logger.exception("a request that another process passed on has failed")
            await reply.fail()
        finally:
            del self._open[ask.sender, ask.number]


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
    }
    if ask.user is not None:
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=ask.user, scopes=[]))
    return scope
