"""A collector of traces on this machine: takes OTLP over HTTP, and can be told to answer otherwise or not at all."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(slots=True)
class Collector:
    """`status` is what it answers, and without end where it is `endless`, until `cut_off`; `going_on` holds its answers back
    while it is clear."""

    port: int = 0
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    status: int = 200
    endless: bool = False
    cut_off: threading.Event = field(default_factory=threading.Event)
    connections: set[int] = field(default_factory=set)
    asked: threading.Event = field(default_factory=threading.Event)
    going_on: threading.Event = field(default_factory=threading.Event)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Span]:
        scopes = [scope for each in self.requests for of in each.resource_spans for scope in of.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    @property
    def resource(self) -> dict[str, str]:
        (found, *_) = (of.resource for each in self.requests for of in each.resource_spans)
        return {each.key: each.value.string_value for each in found.attributes}

    def named(self, name: str) -> Span:
        (found,) = (each for each in self.spans if each.name == name)
        return found


@contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    collector = Collector()
    collector.going_on.set()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(collector))
    server.daemon_threads = True
    collector.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="collector", daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.going_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Taking(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            collector.connections.add(self.client_address[1])
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.asked.set()
            collector.going_on.wait()
            if self.path == "/v1/traces" and collector.status == 200:
                plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                collector.requests.append(ExportTraceServiceRequest.FromString(plain))
            self.send_response(collector.status)
            self.send_header("Content-Length", str(2**32 if collector.endless else 0))
            self.end_headers()
            if collector.endless:
                self._go_on()

        def _go_on(self) -> None:
            try:
                for _ in range(256):
                    self.wfile.write(bytes(2**20))
            except OSError:
                collector.cut_off.set()
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    return Taking
