"""Serves the page /ops and its event stream: the document, its headers, and access control. With MANGA_AUTH=none callers
must be on this machine. Otherwise they need a bearer token, which may also be sent as the password of HTTP Basic."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_network
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.application import Application
from server.call import RequestMetadata
from server.config.parsing import is_loopback_address
from server.config.settings import Settings
from server.identity.request_metadata import Identifier, bearer_of
from server.identity.tool_access import SERVER
from server.ops.observation import Observation, Process
from server.ops.streams import Publisher, StreamEndpoint, Subscribers
from server.transport.http.app import Addon
from server.transport.http.authorization import Challenge
from server.transport.http.middleware import Endpoint
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import DependencyFailure, Failure

FOLDER = Path(__file__).parent / "page"
STYLE = re.compile(r'<link rel="stylesheet" href="(\w+\.css)">')
SCRIPT = re.compile(r'<script src="(\w+\.js)"></script>')
"""The elements of page.html that are replaced by the content of their files."""
ENDS = {"style": ("</style",), "script": ("</script", "<!--")}
"""Text that would end such an element early, or prevent its end (HTML, section 4.12.1.3)."""
GUARDED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every answer at `PAGE` and `EVENTS`."""
POLICY = b"content-security-policy"
NONE = "'none'"
DEFAULT, NO_FRAME = f"default-src {NONE}", f"frame-ancestors {NONE}"
PAGE, EVENTS = "/ops", "/ops/events"
BASIC = (b"www-authenticate", b'Basic realm="manga-tools ops", charset="UTF-8"')
CHAIN = "x-forwarded-for"
PROXIED = (CHAIN, "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto")
"""Headers that proxies add. The server itself evaluates X-Forwarded-For and -Proto, and only from trusted proxies."""
SCOPE = f"{SERVER}:ops"
NOT_HERE = "Without MANGA_AUTH this is for callers on this machine; set MANGA_AUTH=token or jwt, or forward a port to it."


def page(folder: Path = FOLDER) -> tuple[bytes, bytes]:
    """Returns the HTML document and its Content-Security-Policy. The policy allows the page's scripts and styles by hash
    (CSP Level 3, 2.3.1), and requests to this server only. Raises `OSError`, or `ValueError` if a file cannot be inlined."""
    allowed: dict[str, list[str]] = {"style": [], "script": []}

    def inside(element: str, name: str) -> str:
        text = (folder / name).read_text("utf-8")
        if any(end in text.lower() for end in ENDS[element]):
            raise ValueError(f"{name} cannot stand inside the page")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        allowed[element].append(f"'sha256-{digest}'")
        return f"<{element}>{text}</{element}>"

    html = (folder / "page.html").read_text("utf-8")
    html = STYLE.sub(lambda found: inside("style", found[1]), html)
    html = SCRIPT.sub(lambda found: inside("script", found[1]), html)
    sources = " ".join(f"{name}-src {' '.join(dict.fromkeys(hashes) or [NONE])};" for name, hashes in allowed.items())
    policy = f"{DEFAULT}; {sources} img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; {NO_FRAME}"
    return html.encode(), policy.encode()


def guard(app: ASGIApp) -> ASGIApp:
    """Wraps the app for the paths of /ops. Converts a Basic password to a bearer token, adds a Basic challenge to each 401,
    and sets headers that keep answers out of caches, frames and other sites."""

    replaced = {name for name, _ in GUARDED}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (PAGE, EVENTS):
            await app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [each for each in message["headers"] if each[0] not in replaced]
                policy = () if any(name == POLICY for name, _ in own) else ((POLICY, f"{DEFAULT}; {NO_FRAME}".encode()),)
                offer = (BASIC,) if message["status"] == 401 else ()
                message = {**message, "headers": [*own, *GUARDED, *policy, *offer]}
            await send(message)

        headers = [
            (name, _convert_to_bearer(value) if name == b"authorization" else value) for name, value in scope["headers"]
        ]
        await app({**scope, "headers": headers}, receive, send_guarded)

    return serve


def _convert_to_bearer(value: bytes) -> bytes:
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() != b"basic":
        return value
    try:
        _, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
    except ValueError:
        return value
    return b"Bearer " + password if colon and password.strip() else value


def is_from_this_machine(scope: Scope, trusted_proxies: Sequence[str]) -> bool:
    """True if the caller is on this machine. If there are headers of a proxy, all trusted proxies and all addresses in
    X-Forwarded-For must be on this machine too, since another host's loopback address means that host."""
    client, headers = scope.get("client"), Headers(scope=scope)
    if client is None or not is_loopback_address(client[0]):
        return False
    if not any(name in headers for name in PROXIED):
        return True
    by_proxy = bool(trusted_proxies) and all(ip_network(each).is_loopback for each in trusted_proxies)
    chain = ",".join(headers.getlist(CHAIN)).split(",")
    return by_proxy and all(is_loopback_address(each.strip()) for each in chain)


class OpsAccess:
    """Access control, after the checks of Host, Origin and bearer. Rate limits are separate from those of calls."""

    def __init__(self, settings: Settings, identifier: Identifier) -> None:
        self._settings, self._identifier = settings, identifier
        self._limits = LocalLimits(Rate()) if settings.rate_limit else None

    async def refusal(self, scope: Scope, *, stream: bool) -> Response | None:
        """Returns the response that refuses the request (403, 429 or 503), or None. Checks where the request comes from,
        counts it against the rate limit, and checks the token's scope. A stream is refused to scripts of other sites, which
        browsers reveal by the header Sec-Fetch-Site (W3C)."""
        headers = Headers(scope=scope)
        if self._settings.auth == "none" and not is_from_this_machine(scope, self._settings.trusted_proxies):
            return plain(403, NOT_HERE)
        if stream and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return plain(403, "Only the page itself reads this.")
        if self._limits and self._limits.wait_ms(holder_of(scope)):  # at most 100
            return plain(429, "Too many requests. Wait a moment.", {"Retry-After": "1"})
        return await self._refuse_unscoped(headers)

    async def still_allowed(self, scope: Scope) -> bool:
        """False once the token of an open stream has expired, was revoked or lacks the scope. True if not verifiable now."""
        refused = await self._refuse_unscoped(Headers(scope=scope))
        return refused is None or refused.status_code == 503

    async def _refuse_unscoped(self, headers: Headers) -> Response | None:
        """Returns a 403 for a token that is invalid or lacks the scope, a 503 if it cannot be verified now, or None."""
        try:
            principal = await self._identifier.identify(RequestMetadata(), bearer_of(headers))
        except DependencyFailure:
            return busy("The issuer's keys are not loaded yet, so no caller can be admitted.")
        except Failure:
            return plain(403, "This token is not let in here.")
        if principal.scopes is None or SCOPE in principal.scopes:
            return None
        return plain(403, f"This needs the scope {SCOPE}.", {"WWW-Authenticate": Challenge().for_scope({}, SCOPE)})


class OpsAddon(Addon):
    """The routes of `/ops`. The constructor raises `OSError` or `ValueError` if the page cannot be assembled."""

    def __init__(self, settings: Settings, app: Application, worker: int | None = None) -> None:
        self._document, self._policy = page()
        self._visitors = OpsAccess(settings, app.identifier)
        self.subscribers, process = Subscribers(), Process(settings, app, worker)
        clock, lifecycle = app.dependencies.clock, app.lifecycle
        self.publisher = Publisher(self.subscribers, partial(Observation, process), lambda: lifecycle.draining, clock)
        self._streams = StreamEndpoint(self.subscribers, self.publisher, self._visitors.still_allowed)

    def routes(self) -> list[BaseRoute]:
        return [Route(PAGE, self._page, methods=["GET"]), Route(EVENTS, Endpoint(self._events), methods=["GET"])]

    def wrap(self, asgi: ASGIApp) -> ASGIApp:
        return guard(asgi)

    async def close_all(self) -> None:
        await self._streams.close_all()

    async def _page(self, request: Request) -> Response:
        refused = await self._visitors.refusal(request.scope, stream=False)
        return refused or Response(self._document, headers={POLICY.decode(): self._policy.decode()}, media_type="text/html")

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = await self._visitors.refusal(scope, stream=True)
        await (refused or self._streams)(scope, receive, send)
