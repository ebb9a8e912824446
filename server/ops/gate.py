"""How a browser proves itself on two paths: it cannot send a bearer when it opens a page, but asks for a name and a password
where a 401 offers Basic (RFC 7617). The password is the bearer; the name is nobody's. HTTP's own checks, which every request
passes, compare it in constant time."""

from __future__ import annotations

import base64
import binascii

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.ops.document import GUARDED, NOTHING, POLICY

PAGE, EVENTS = "/ops", "/ops/events"
PATHS = (PAGE, EVENTS)
AUTHORIZATION = b"authorization"
OFFER = (b"www-authenticate", b'Basic realm="manga-tools ops", charset="UTF-8"')
UNAUTHORIZED = 401
REPLACED = {name for name, _ in GUARDED}


class Gate:
    """Shows `app` the password as the bearer that it is, and offers Basic beside what a refusal says. Every answer on these
    paths, a refusal too, is kept from caches, frames and other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in PATHS:
            await self._app(scope, receive, send)
            return
        headers = [(name, _bearer(value) if name == AUTHORIZATION else value) for name, value in scope["headers"]]
        await self._app({**scope, "headers": headers}, receive, _guarded(send))


def _guarded(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [each for each in message["headers"] if each[0] not in REPLACED]
            policy = () if any(name == POLICY for name, _ in own) else ((POLICY, NOTHING),)
            offer = (OFFER,) if message["status"] == UNAUTHORIZED else ()
            message = {**message, "headers": [*own, *GUARDED, *policy, *offer]}
        await send(message)

    return sending


def _bearer(value: bytes) -> bytes:
    """Returns what is no Basic, and what is none that can be read, as it came."""
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() != b"basic":
        return value
    try:
        _, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return value
    return b"Bearer " + password if colon and password.strip() else value
