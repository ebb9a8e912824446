"""A batch that is posted to a session of Streamable HTTP (MCP 2025-03-26, basic/transports, sending messages): each message
of it is served as if it had been posted by itself, and what answers them shares one stream. One at a time, in its turn, and
none while an answer is unread: twenty answers are not held for a client that takes none, nor made while others wait."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import mcp_types as types
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from server.transport.batches.split import NoBatch, id_of, refused, split
from server.transport.http.bounds.bodies import read_again
from server.transport.http.sse.messages import HEADERS
from server.transport.http.streamable.refusals import refusal

One = Callable[[bytes, Scope, Receive, Send], Coroutine[Any, Any, None]]
"""Serves one message that was posted."""
ACCEPTED = 202


async def serve_batch(
    body: bytes, one: One, turn: Callable[[], Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answers with a stream of events, with 202 where nothing is to be answered, or, where nothing is served, with 400 and
    what is wrong with each. `turn` waits until a message of this caller may go on."""
    try:
        entries = split(body)
    except NoBatch as none:
        await refusal(types.INVALID_REQUEST, str(none))(scope, receive, send)
        return
    messages = [entry for entry in entries if isinstance(entry, bytes)]
    errors = [_plain(entry) for entry in entries if not isinstance(entry, bytes)]
    if not messages:
        await JSONResponse(errors, 400)(scope, receive, send)
        return
    together = _Together(send)
    for error in errors:
        await together.event(error)
    for message in messages:
        await turn()
        await together.taken()
        await one(message, dict(scope), read_again(message, receive), _Part(together, id_of(message)))
    if together.begun:
        await together.end()
    else:
        await Response(status_code=ACCEPTED)(scope, receive, send)


class _Together:
    """The one response. It begins with the first event."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def event(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        await self.write(b"event: message\r\ndata: %b\r\n\r\n" % text.encode())

    async def write(self, events: bytes) -> None:
        """Writes whole events."""
        if not self.begun:
            self.begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self._send({"type": "http.response.body", "body": events, "more_body": True})

    async def taken(self) -> None:
        """Waits until the socket has taken what was written: nothing is, and the server waits before each piece."""
        if self.begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Part:
    """A `send` for the response to one message: its events go on as they come, and a refusal becomes one."""

    def __init__(self, together: _Together, number: Any) -> None:
        self._together = together
        self._number = number
        self._status = ACCEPTED
        self._streams = False
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._streams = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/event-stream")
            return
        body = message.get("body", b"")
        if self._streams:
            if body:
                await self._together.write(body)
            return
        self._body += body
        if not message.get("more_body", False) and self._status != ACCEPTED and self._number is not None:
            await self._together.event(self._answer())

    def _answer(self) -> dict[str, Any]:
        try:
            answer: Any = json.loads(self._body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "jsonrpc" in answer:
            return {**answer, "id": self._number}
        code = types.INTERNAL_ERROR if self._status == 503 else types.INVALID_REQUEST
        return _plain(refused(self._body.decode("utf-8", "replace").strip(), self._number, code))


def _plain(error: types.JSONRPCError) -> dict[str, Any]:
    return error.model_dump(by_alias=True, mode="json", exclude_unset=True)
