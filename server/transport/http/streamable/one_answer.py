"""The response to one request of the 2026 era: JSON, or a stream of events where something is told before the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from pydantic_core import to_json
from starlette.types import Send

from server.transport.http.sse.direct import TOKEN
from server.transport.http.sse.messages import HEADERS

Params = Mapping[str, Any]


class OneAnswer:
    """To the request of this id."""

    def __init__(self, number: types.RequestId, send: Send) -> None:
        self._number = number
        self._send = send
        self._one = asyncio.Lock()
        self._streams = False
        self.ended = False

    async def tell(self, message: bytes) -> None:
        """Tells a message before the answer. After it nothing is told."""
        await self._event(b"event: message\r\ndata: %b\r\n\r\n" % message)

    async def ping(self) -> None:
        await self._event(b": ping\r\n\r\n")

    async def end(self, said: bytes, status: int) -> None:
        """Answers by a result or error, which is written already, under its name. A stream has no status of its own."""
        body = b'{"jsonrpc":"2.0","id":%b,%b}' % (to_json(self._number), said)
        async with self._one:
            self.ended = True
            if self._streams:
                body = b"event: message\r\ndata: %b\r\n\r\n" % body
            else:
                length = (b"content-length", b"%d" % len(body))
                headers = [(b"content-type", b"application/json"), length]
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _event(self, event: bytes) -> None:
        async with self._one:
            if self.ended:
                return
            if not self._streams:
                self._streams = True
                await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await self._send({"type": "http.response.body", "body": event, "more_body": True})


class Exchange:
    """The way back to whoever sent the request, as the SDK's session uses it (`DispatchContext`): nothing can be asked."""

    can_send_request = False

    def __init__(
        self,
        answer: OneAnswer,
        number: types.RequestId,
        metadata: ServerMessageMetadata,
        token: types.ProgressToken | None,
        headers: Mapping[str, str],
    ) -> None:
        self._answer = answer
        self._token = token
        self.request_id = number
        self.message_metadata = metadata
        self.transport = TransportContext(kind="streamable-http", can_send_request=False, headers=headers)
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, params: Params | None, opts: CallOptions | None = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        said = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        await self._answer.tell(to_json(said))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._token is not None:
            said = {TOKEN: self._token, "progress": progress, "total": total, "message": message}
            await self.notify("notifications/progress", {name: each for name, each in said.items() if each is not None})
