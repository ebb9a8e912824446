"""What the agent calls outside of itself, in the place of a gateway and of a function of AWS Lambda: what came, and what is answered."""

from __future__ import annotations

import json
import queue
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]
BOUND_SECONDS = 30.0
LAMBDA = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")


@dataclass
class Outside:
    """`statuses` are answered one after the other, then 200; `keys` is the set that the function answers with."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    keys: Json = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    posted: queue.Queue[tuple[str, Json]] = field(default_factory=queue.Queue)

    @property
    def environment(self) -> dict[str, str]:
        """Of a process whose functions are here."""
        return {
            "AWS_ENDPOINT_URL_LAMBDA": self.url,
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "y",
        }

    def told(self) -> list[tuple[str, Json]]:
        """All messages to customers up to the end of a turn."""
        heard = []
        while not heard or heard[-1][1]["event"] == "words":
            heard.append(self.posted.get(timeout=BOUND_SECONDS))
        return heard

    def answer(self, path: str, body: Json) -> tuple[int, Json]:
        if LAMBDA.fullmatch(path):
            if body == {"keys": True}:
                return 200, self.keys
            self.posted.put((body["connection"], body["message"]))
            return 200, {"status": self.statuses.pop(0) if self.statuses else 200}
        self.posted.put((unquote(path.removeprefix("/@connections/")), body))
        return (self.statuses.pop(0) if self.statuses else 200), {}


@contextmanager
def outside() -> Iterator[Outside]:
    own = Outside()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            own.secrets.append(self.headers.get("X-Door-Secret", ""))
            status, answer = own.answer(self.path, body)
            said = json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{own.url}/@connections/elsewhere")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def do_GET(self) -> None:
            own.posted.put((self.path, {}))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        own.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield own
        finally:
            server.shutdown()
            thread.join()
