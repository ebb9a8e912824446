from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.identity.request_metadata import Identifier, InvalidToken, KeysUnavailable, bearer_of
from server.runtime.lifecycle import Lifecycle
from server.transport.http.authorization import WELL_KNOWN, Challenge
from server.transport.http.bodies import MOST_HEADER_BYTES, MOST_HEADERS, MOST_TARGET_BYTES, FairQueue
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of, user_of


class AllowedOrigins:
    """Checks the hosts that requests name. Allows `host`, loopback with any port, and `further`, in which `name` allows the
    name alone or with the server's own port, `name:*` alone or with any port, and `name:1234` only with that port."""

    def __init__(self, host: str, port: int, further: Sequence[str] = ()) -> None:
        # The address for listening on all interfaces is not a host name.
        own = () if host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)  # noqa: S104
        self._any_port = {"127.0.0.1", "localhost", "[::1]", *(each[:-2] for each in further if each.endswith(":*"))}
        self._exact: set[str] = set()
        for name in (*own, *(each for each in further if not each.endswith(":*"))):
            self._exact |= {name, f"{name}:{port}"} if ":" not in name.rsplit("]", 1)[-1] else {name}

    def host(self, header: str | None) -> bool:
        if not header:
            return False
        header = header.lower()
        end = header.find("]") + 1  # of an IPv6 address
        name, port = header[:end] + header[end:].partition(":")[0], header[end:].partition(":")[2]
        return header in self._exact or (name in self._any_port and (port == "" or port.isdigit()))

    def origin(self, header: str | None) -> bool:
        """Returns True if the Origin header is missing (not a browser) or names an allowed host with http or https."""
        if not header:
            return True
        try:
            parts = urlsplit(header)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and not parts.path and self.host(parts.netloc)


class Endpoint:
    """Makes Starlette call `app` as an ASGI application and not as a request handler."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


STOPPING = "The server is stopping."
PROBES = ("/healthz", "/readyz")
OPEN_PATHS = (*PROBES, "/metrics")
"""Paths served without a bearer token, also while the server stops."""


@dataclass(eq=False)
class Gate:
    """Records a request's arrival time. Refuses a request that fails a check, in this order: the size of its head, no new
    session while the server stops, Host and Origin, and the bearer token. A request other than a POST or `/healthz` then
    waits until its principal or address has its turn. Calls `refused` with "http_STATUS" for each from 400 on."""

    app: ASGIApp
    lifecycle: Lifecycle
    allowed: AllowedOrigins
    identifier: Identifier
    challenge: Challenge
    shortcuts: Mapping[tuple[str, str], ASGIApp]
    """Applications by (method, path) that bypass Starlette's routing and error handling, to save their cost on every call.
    Their unexpected exceptions are answered by uvicorn with 500."""
    refused: Callable[[str], None]
    _queue: FairQueue = field(default_factory=FairQueue)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["manga.arrived"] = time.monotonic()
        has_begun = False

        async def counting_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start" and message["status"] >= 400:
                self.refused(f"http_{message['status']}")
            await send(message)

        app: ASGIApp | None = await self._refusal(scope)
        if app is None:
            app = self.shortcuts.get((scope["method"], scope["path"]), self.app)
        try:
            await app(scope, receive, counting_send)
        except asyncio.CancelledError:  # at shutdown uvicorn cancels late requests, and would answer 500
            if has_begun or not self.lifecycle.draining:
                raise
            await busy(STOPPING)(scope, receive, counting_send)

    async def _refusal(self, scope: Scope) -> Response | None:
        path, headers = scope["path"], scope["headers"]
        if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_TARGET_BYTES:
            return plain(414, f"An address has at most {MOST_TARGET_BYTES} bytes.")
        if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > MOST_HEADER_BYTES:
            return plain(431, f"A request has at most {MOST_HEADERS} headers with {MOST_HEADER_BYTES} bytes.")
        fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(headers)}  # first one wins
        opens_session = path not in OPEN_PATHS and not path.startswith("/messages") and "mcp-session-id" not in fields
        if opens_session and self.lifecycle.draining:
            return busy(STOPPING)
        if path not in PROBES:  # against DNS rebinding (MCP, basic/transports, security warning)
            if not self.allowed.host(fields.get("host")):
                return plain(421, "This Host is not served here; MANGA_ALLOWED_HOSTS adds it.")
            if not self.allowed.origin(fields.get("origin")):
                return plain(403, "This Origin is not allowed; MANGA_ALLOWED_HOSTS adds it.")
        if path not in OPEN_PATHS and not path.startswith(WELL_KNOWN):
            for name in (b"authorization", b"x-user-id") if len(fields) < len(headers) else ():
                if len({value for each, value in headers if each == name}) > 1:
                    return plain(400, f"{name.decode()} comes twice, with two values.")
            if (refusal := await self._authenticate(scope, bearer_of(fields))) is not None:
                await self._queue.wait_turn(holder_of(scope))
                return refusal
        # A POST waits for its turn once its body is complete (`Bodies`); a liveness probe does not wait.
        if scope["method"] != "POST" and path != "/healthz":
            await self._queue.wait_turn(holder_of(scope))
        return None

    async def _authenticate(self, scope: Scope, bearer: str | None) -> Response | None:
        """Returns the refusal (401 or 503), or None. Stores the principal in the scope, so that the principal of a POST can
        be compared with that of its stream."""
        try:
            principal = await self.identifier.admit(bearer)
        except InvalidToken as unproven:
            error = str(unproven) if bearer is not None else None
            return plain(401, str(unproven), {"WWW-Authenticate": self.challenge.for_token(scope, error)})
        except KeysUnavailable:
            return busy("The issuer's keys are not loaded yet, so no caller can be admitted.")
        if principal is not None:
            scope["user"] = user_of(principal)
        return None
