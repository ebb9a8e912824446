"""The page and its stream over HTTP: the document, its headers, and Basic as another way to send the bearer."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.config.settings import Settings
from server.ops.observation import Observation, Process
from server.ops.streams import Publisher, Streams, Subscribers
from server.ops.visitors import Visitors
from server.transport.http.app import Addon
from server.transport.http.middleware import Endpoint

if TYPE_CHECKING:
    from server.application import Application


FOLDER = Path(__file__).parent / "page"
STYLE = re.compile(r'<link rel="stylesheet" href="(\w+\.css)">')
SCRIPT = re.compile(r'<script src="(\w+\.js)"></script>')
"""The elements of page.html that are replaced by their files."""
ENDS = {"style": ("</style",), "script": ("</script", "<!--")}
"""Text that would end such an element, or keep it from ending (HTML, section 4.12.1.3)."""
GUARDED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every answer on these paths."""
POLICY = b"content-security-policy"
NONE = "'none'"
DEFAULT, NO_FRAME = f"default-src {NONE}", f"frame-ancestors {NONE}"
PAGE, EVENTS = "/ops", "/ops/events"
BASIC = (b"www-authenticate", b'Basic realm="manga-tools ops", charset="UTF-8"')


def page(folder: Path = FOLDER) -> tuple[bytes, bytes]:
    """Returns the document and its Content-Security-Policy: scripts and styles by hash (CSP Level 3, section 2.3.1),
    requests to this server alone. Raises `OSError`, and `ValueError` for a file that cannot be inlined."""
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


class Gate:
    """Turns Basic's password into the bearer that it is, and offers Basic with each 401. Keeps every answer on these paths
    from caches, frames and other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (PAGE, EVENTS):
            await self._app(scope, receive, send)
            return
        headers = [(name, _bearer(value) if name == b"authorization" else value) for name, value in scope["headers"]]
        await self._app({**scope, "headers": headers}, receive, _guarded(send))


def _guarded(send: Send) -> Send:
    replaced = {name for name, _ in GUARDED}

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [each for each in message["headers"] if each[0] not in replaced]
            policy = () if any(name == POLICY for name, _ in own) else ((POLICY, f"{DEFAULT}; {NO_FRAME}".encode()),)
            offer = (BASIC,) if message["status"] == 401 else ()
            message = {**message, "headers": [*own, *GUARDED, *policy, *offer]}
        await send(message)

    return send_guarded


def _bearer(value: bytes) -> bytes:
    """Returns credentials other than well-formed Basic as they came."""
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() != b"basic":
        return value
    try:
        _, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return value
    return b"Bearer " + password if colon and password.strip() else value


class Room(Addon):
    """Raises `ValueError` where its page cannot be put together."""

    def __init__(self, settings: Settings, app: Application, worker: int | None = None) -> None:
        self._document, self._policy = page()
        self._visitors = Visitors(settings, app.identifier)
        self.subscribers, process = Subscribers(), Process(settings, app, worker)
        clock, lifecycle = app.dependencies.clock, app.lifecycle
        self.publisher = Publisher(self.subscribers, lambda: Observation(app, process), lambda: lifecycle.draining, clock)
        self._streams = Streams(self.subscribers, self.publisher, self._visitors.may_still)

    def routes(self) -> list[BaseRoute]:
        return [Route(PAGE, self._page, methods=["GET"]), Route(EVENTS, Endpoint(self._events), methods=["GET"])]

    def wrap(self, asgi: ASGIApp) -> ASGIApp:
        return Gate(asgi)

    async def close_all(self) -> None:
        await self._streams.close_all()

    async def _page(self, request: Request) -> Response:
        refused = await self._visitors.refusal(request.scope, stream=False)
        policy = {POLICY.decode(): self._policy.decode()}
        return refused or Response(self._document, headers=policy, media_type="text/html")

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = await self._visitors.refusal(scope, stream=True)
        await (refused or self._streams)(scope, receive, send)
