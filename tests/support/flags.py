"""Where flags come from in tests: a document over a real socket, as well or badly as a test wants it, and one in memory."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from server.config.sources import Unreadable
from server.flags.document import Flags, parse

PATH = "/applications/store/environments/test/configurations/tools"
WELL, FAILING, REDIRECTING, HANGING, CUT_OFF, PACKED = "well", "failing", "redirecting", "hanging", "cut off", "packed"
LONGEST_HANG = 30.0


def flags_of(**flags: Any) -> Flags:
    return Flags(parse(json.dumps(flags).encode()))


@dataclass
class FlagsServer:
    """Answers with `content` and its ETag, or 304 to whoever has that already. `statuses` are what it has answered."""

    content: bytes = b"{}"
    mood: str = WELL
    etags: bool = True
    url: str = ""
    statuses: list[int] = field(default_factory=list)
    released: Event = field(default_factory=Event)

    def set(self, **flags: Any) -> None:
        self.content = json.dumps(flags).encode()

    def answer(self, known: str | None) -> tuple[int, dict[str, str], bytes]:
        if self.mood == FAILING:
            return 500, {}, b"no"
        if self.mood == REDIRECTING:
            return 302, {"Location": f"{self.url}?elsewhere"}, b""
        if self.mood == HANGING:
            self.released.wait(LONGEST_HANG)
        if self.mood == CUT_OFF:
            return 200, {"Content-Length": str(len(self.content) + 10), "ETag": '"cut"'}, self.content
        if self.mood == PACKED:
            return 200, {"Content-Encoding": "deflate"}, zlib.compress(self.content)
        etag = f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'
        if self.etags and known == etag:
            return 304, {"ETag": etag}, b""
        return 200, {"ETag": etag} if self.etags else {}, self.content


@contextmanager
def serving_flags(content: bytes = b"{}") -> Iterator[FlagsServer]:
    own = FlagsServer(content)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = own.answer(self.headers.get("If-None-Match"))
            own.statuses.append(status)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            with suppress(OSError):  # whoever asked has given up, or has read enough
                self.end_headers()
                self.wfile.write(body)
            self.close_connection = own.mood == CUT_OFF

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        own.url = f"http://127.0.0.1:{server.server_address[1]}{PATH}"
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield own
        finally:
            own.released.set()
            server.shutdown()
            thread.join()


class MemorySource:
    """A source that a test turns: a document, or why there is none."""

    def __init__(self, content: bytes = b"{}") -> None:
        self.content = content
        self.away: str | None = None

    async def read(self) -> bytes:
        if self.away is not None:
            raise Unreadable(self.away)
        return bytes(bytearray(self.content))  # what is read again is another object
