"""The gate of HTTP, for the request that a WebSocket begins with.

That is an ordinary GET (RFC 6455, section 4.1): as one it passes every middleware and is routed, with what the connection
sends and takes in its scope. A response is then a refusal, which ASGI can say in place of the handshake (the extension
`websocket.http.response`)."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.http.responses import plain

PATH = "/ws"
UPGRADE = "manga.upgrade"
"""Where the scope of such a GET holds its `Upgrade`."""
SCHEMES = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What the client says from now on, and how it is answered, as ASGI's `websocket` messages."""

    subprotocols: tuple[str, ...]
    receive: Receive
    send: Send


class Gate:
    """Shows `app`, which serves HTTP, each WebSocket as the GET that it is until it has been accepted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        await receive()  # websocket.connect, with nothing in it
        upgrade = Upgrade(tuple(scope["subprotocols"]), receive, send)
        scheme = SCHEMES.get(scope["scheme"], scope["scheme"])
        request = {**scope, "type": "http", "method": "GET", "scheme": scheme, UPGRADE: upgrade}
        refusing = _Refusing(send)
        if scope["path"] == PATH:
            await self._app(request, receive, refusing)
        else:
            await plain(404, f"WebSockets are served at {PATH}.")(request, receive, refusing)


class _Refusing:
    """Says an HTTP response in place of the handshake."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        await self._send({**message, "type": f"websocket.{message['type']}"})
