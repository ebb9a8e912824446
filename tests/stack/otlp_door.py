"""OTLP over HTTP for Zipkin, which does not speak it: what the Collector of docker-compose.yml does there, for one process.

The Collector cannot be had from a registry that a test may ask. How a span of OpenTelemetry becomes one of Zipkin is laid down
in OpenTelemetry's specification (trace/sdk_exporters/zipkin): that, for what these spans have.
"""

from __future__ import annotations

import gzip
import json
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

PATH = "/v1/traces"
PROTOBUF = "application/x-protobuf"
SEND_SECONDS = 10.0
KINDS = {Span.SPAN_KIND_SERVER: "SERVER", Span.SPAN_KIND_CLIENT: "CLIENT"}


@contextmanager
def otlp_door(spans_url: str) -> Iterator[str]:
    """The address for OTEL_EXPORTER_OTLP_ENDPOINT; what comes there is handed to Zipkin before it is acknowledged."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(spans_url))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="otlp-door", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(spans_url: str) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != PATH or self.headers.get("Content-Type") != PROTOBUF:
                self.send_error(404 if self.path != PATH else 415)
                return
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            _send(spans_url, list(translated(ExportTraceServiceRequest.FromString(body))))
            self.send_response(200)
            self.send_header("Content-Type", PROTOBUF)
            self.send_header("Content-Length", str(len(said := ExportTraceServiceResponse().SerializeToString())))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            """Says nothing: what went wrong is seen by who sent it."""

    return Door


def _send(spans_url: str, spans: list[dict[str, Any]]) -> None:
    sending = urllib.request.Request(spans_url, json.dumps(spans).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(sending, timeout=SEND_SECONDS).close()


def translated(request: ExportTraceServiceRequest) -> Iterator[dict[str, Any]]:
    """Spans as Zipkin's second API takes them."""
    for of in request.resource_spans:
        service = _tags(of.resource.attributes).get("service.name", "unknown_service")
        for scope in of.scope_spans:
            yield from (_span(each, service) for each in scope.spans)


def _span(span: Span, service: str) -> dict[str, Any]:
    tags = _tags(span.attributes)
    if span.status.code == Status.STATUS_CODE_ERROR:
        tags |= {"otel.status_code": "ERROR", "error": span.status.message or "true"}
    zipkin = {
        "traceId": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "name": span.name,
        "timestamp": span.start_time_unix_nano // 1000,
        "duration": max(1, (span.end_time_unix_nano - span.start_time_unix_nano) // 1000),
        "localEndpoint": {"serviceName": service},
        "annotations": [{"timestamp": each.time_unix_nano // 1000, "value": each.name} for each in span.events],
        "tags": tags,
    }
    if span.parent_span_id:
        zipkin["parentId"] = span.parent_span_id.hex()
    return zipkin | ({"kind": KINDS[span.kind]} if span.kind in KINDS else {})


def _tags(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {each.key: _text(each.value) for each in attributes}


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return json.dumps([_text(each) for each in value.array_value.values])
    if kind == "bool_value":
        return str(value.bool_value).lower()
    return str(getattr(value, kind)) if kind else ""
