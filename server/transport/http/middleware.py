"""What every HTTP request passes before it is routed, as pure ASGI (never BaseHTTPMiddleware, which breaks streams)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.identity import CannotTell, Identifier, Unproven
from server.identity.bearer import bearer_of
from server.runtime.lifecycle import Lifecycle
from server.transport.http.bodies import FairQueue
from server.transport.http.metadata import WELL_KNOWN, Challenge
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class AllowedOrigins:
    """`name` allows a name without a port and with the server's own, `name:*` any port, `name:1234` that one."""

    def __init__(self, host: str, port: int, further: Sequence[str] = ()) -> None:
        # Listening everywhere is no name to be called by.
        own = () if host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)  # noqa: S104
        self._any_port = set(LOOPBACK) | {each[:-2] for each in further if each.endswith(":*")}
        self._exact = {variant for name in own for variant in (name, f"{name}:{port}")}
        for name in (each for each in further if not each.endswith(":*")):
            self._exact |= {name, f"{name}:{port}"} if ":" not in name.rsplit("]", 1)[-1] else {name}

    def host(self, header: str | None) -> bool:
        if not header:
            return False
        header = header.lower()
        name, port = _split(header)
        return header in self._exact or (name in self._any_port and (port == "" or port.isdigit()))

    def origin(self, header: str | None) -> bool:
        """No Origin is not a browser; one has to be http or https and of an allowed host."""
        if not header:
            return True
        try:
            parts = urlsplit(header)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and not parts.path and self.host(parts.netloc)


def _split(header: str) -> tuple[str, str]:
    """Splits host and port of a Host header, whose IPv6 addresses stand in brackets."""
    if header.startswith("["):
        name, _, port = header.partition("]")
        return f"{name}]", port.removeprefix(":")
    name, _, port = header.partition(":")
    return name, port


PROBES = ("/healthz", "/readyz")
OPEN_PATHS = (*PROBES, "/metrics")
SAID_ONCE = (b"authorization", b"x-user-id")


class Arrival:
    """Notes when the request came in, which is where a turn's clock starts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["manga.arrived"] = time.monotonic()
        await self._app(scope, receive, send)


class Shortcut:
    """Takes requests for some exact paths past Starlette's routing and error handling, which every POST of a call would
    otherwise pay for; whatever these applications do not foresee, uvicorn answers with 500."""

    def __init__(self, app: ASGIApp, paths: Mapping[tuple[str, str], ASGIApp]) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = (scope["method"], scope["path"]) if scope["type"] == "http" else None
        await self._paths.get(path, self._app)(scope, receive, send)  # type: ignore[arg-type]  # None is no key


class Endpoint:
    """An object, so that Starlette takes what is behind it for an ASGI application and not for a request handler."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class Draining:
    """A server that stops takes no new streams and sessions; what is open is still answered."""

    def __init__(self, app: ASGIApp, lifecycle: Lifecycle) -> None:
        self._app = app
        self._lifecycle = lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._lifecycle.draining and _opens(scope):
            await busy("The server is stopping.")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _opens(scope: Scope) -> bool:
    if scope["path"] in OPEN_PATHS or scope["path"].startswith("/messages"):
        return False
    return "mcp-session-id" not in Headers(scope=scope)


class TrustedOrigin:
    """Host and Origin against the allowlist: what stands against DNS rebinding (MCP, basic/transports, security warning)."""

    def __init__(self, app: ASGIApp, allowed: AllowedOrigins) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._allowed.host(headers.get("host")):
            await plain(421, "This Host is not served here; MANGA_ALLOWED_HOSTS adds it.")(scope, receive, send)
        elif not self._allowed.origin(headers.get("origin")):
            await plain(403, "This Origin is not allowed; MANGA_ALLOWED_HOSTS adds it.")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Authenticated:
    """Bearer tokens, on every request that reaches a session. The principal of each POST is compared with that of the
    stream it belongs to, and is answered 404 when they differ."""

    def __init__(self, app: ASGIApp, identifier: Identifier, challenge: Challenge, queue: FairQueue) -> None:
        self._app = app
        self._identifier = identifier
        self._challenge = challenge
        self._queue = queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or scope["path"].startswith(WELL_KNOWN):
            await self._app(scope, receive, send)
        elif name := _contradicted(scope):
            await plain(400, f"{name} comes twice, with two values.")(scope, receive, send)
        elif (refusal := await self._refusal(scope)) is not None:
            await self._queue.next(holder_of(scope))
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        """Returns None when the request is let in, with its principal in the scope."""
        bearer = bearer_of(Headers(scope=scope))
        try:
            principal = await self._identifier.admit(bearer)
        except Unproven as unproven:
            error = str(unproven) if bearer is not None else None
            return plain(401, str(unproven), {"WWW-Authenticate": self._challenge.of(scope, error)})
        except CannotTell:
            return busy("The issuer's keys are not there yet, so nobody can be let in.")
        if principal is not None:
            scope["user"] = _user(principal)
        return None


@lru_cache(maxsize=1024)
def _user(principal: str) -> AuthenticatedUser:
    """The token itself is not passed on: the SDK needs a name to compare, not the secret."""
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))


def _contradicted(scope: Scope) -> str | None:
    """Finds the header that says who is calling and comes twice, with two values: nobody can tell which one is meant."""
    said: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in SAID_ONCE and said.setdefault(name, value) != value:
            return str(name, "ascii")
    return None
