"""Two origins, as a host on the web has them: its own page with its backend, and the sandbox's, with nothing but the sandbox."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from mcp.shared.exceptions import MCPError

from tests.support.browser.host_backend import HostBackend, Json

FILES = Path(__file__).with_name("host")
OF_HOST = {"/host.html": "text/html", "/host.js": "text/javascript"}
OF_SANDBOX = {"/sandbox.html": "text/html", "/sandbox.js": "text/javascript"}
SECONDS = 30.0


@dataclass
class Origins:
    """`backends` answer what the page of a host asks, by the name that it was opened with, in the loop of the tests."""

    loop: asyncio.AbstractEventLoop
    backends: dict[str, HostBackend] = field(default_factory=dict)
    host: str = ""
    sandbox: str = ""

    def answer(self, name: str, asked: Json) -> Json:
        """From a thread of the HTTP server."""
        work = self.backends[name].answer(asked["method"], asked["params"])
        try:
            return {"result": asyncio.run_coroutine_threadsafe(work, self.loop).result(SECONDS)}
        except MCPError as e:
            return {"error": {"code": e.error.code, "message": e.error.message}}


def policy(csp: Json) -> str:
    """The Content Security Policy that the specification makes of what a resource declares ("CSP Construction from Metadata").

    Stricter in one thing: `connect-src` has no 'self', which would be the sandbox's own server and no business of a card's."""
    resources = " ".join(csp.get("resourceDomains") or ())
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'unsafe-inline' {resources}",
            f"style-src 'self' 'unsafe-inline' {resources}",
            f"connect-src {' '.join(csp.get('connectDomains') or ()) or chr(39) + 'none' + chr(39)}",
            f"img-src 'self' data: {resources}",
            f"font-src 'self' {resources}",
            f"media-src 'self' data: {resources}",
            f"frame-src {' '.join(csp.get('frameDomains') or ()) or chr(39) + 'none' + chr(39)}",
            "object-src 'none'",
            f"base-uri {' '.join(csp.get('baseUriDomains') or ()) or chr(39) + 'self' + chr(39)}",
        )
    )


@contextmanager
def origins(loop: asyncio.AbstractEventLoop) -> Iterator[Origins]:
    own = Origins(loop)
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(own, files)) for files in (OF_HOST, OF_SANDBOX)]
    own.host, own.sandbox = (f"http://127.0.0.1:{each.server_port}" for each in servers)
    threads = [threading.Thread(target=each.serve_forever, args=(0.05,), daemon=True) for each in servers]
    for each in threads:
        each.start()
    try:
        yield own
    finally:
        for each in servers:
            each.shutdown()
            each.server_close()
        for thread in threads:
            thread.join(SECONDS)


def _handler_of(own: Origins, files: dict[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if (kind := files.get(url.path)) is None:
                self._send(404, b"", "text/plain", None)
            else:
                stated = parse_qs(url.query).get("csp")
                self._send(200, (FILES / url.path[1:]).read_bytes(), kind, policy(json.loads(stated[0])) if stated else None)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = own.answer(self.path.removeprefix("/backend/"), asked) if files is OF_HOST else {}
            self._send(200, json.dumps(answer).encode(), "application/json", None)

        def _send(self, status: int, body: bytes, kind: str, stated: str | None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            if stated is not None:
                self.send_header("Content-Security-Policy", stated)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *ignored: object) -> None:
            """Not on the tests' stderr."""

    return Handler
