"""Spans on their way to a collector: from a bounded queue, in batches, on a thread of their own. No call waits for one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from urllib3.exceptions import HTTPError

from server.tracing.environment import ENDPOINT, MOST_WAITING
from session.resilience.diagnosis import network_problem
from session.resilience.outage import Outage

logger = logging.getLogger(__name__)

EXPORT_SECONDS = 5.0
"""What a batch may take, with its repetitions."""
CLOSE_SECONDS = 2.0
"""What is left at the end gets so long to leave. It has been drained by then, and others still have to be closed."""
REDIRECTED, REFUSED = 300, 400
MOST_ANSWERED = 4096
"""Bytes of an answer."""


class Collector(requests.Session):
    """Remembers what was wrong last, in words that hold no address and no secret. What it answers beside the status is of no
    use: so much is read as lets the connection be used again, however much there is."""

    why = "it does not take them"

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Raises `requests.RequestException`, also where it sends elsewhere: nobody follows, and the exporter would take it
        for a success."""
        try:
            response = super().request(*args, **{**kwargs, "stream": True})
            with response:
                response.raw.read1(MOST_ANSWERED)
        except (requests.RequestException, HTTPError) as error:
            problem = network_problem(error, ENDPOINT)
            self.why = f"{problem.what}; {problem.remedy}" if problem else "no answer in time"
            raise
        if response.status_code >= REDIRECTED:
            self.why = f"it answers HTTP {response.status_code}"
        if REDIRECTED <= response.status_code < REFUSED:
            raise requests.TooManyRedirects(self.why)
        return response


class ToldExporter(SpanExporter):
    """Says once that the collector is lost, and once that it is found."""

    def __init__(self, exporter: SpanExporter, collector: Collector) -> None:
        self._exporter = exporter
        self._collector = collector
        self._outage = Outage(logger, "the collector of traces")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._outage.over()
        else:
            self._outage.failed(self._collector.why)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class Sender:
    """Owns the queue and the thread until it is closed."""

    def __init__(self, endpoint: str) -> None:
        # The exporter logs each failure with the address; what there is to say is said above.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        collector = Collector()
        exporter = OTLPSpanExporter(endpoint, timeout=EXPORT_SECONDS, session=collector)
        self._batches = BatchSpanProcessor(ToldExporter(exporter, collector), max_queue_size=MOST_WAITING)

    def send(self, spans: Iterable[ReadableSpan]) -> None:
        for span in spans:
            self._batches.on_end(span)

    async def aclose(self) -> None:
        """Gives what waits `CLOSE_SECONDS`. A collector that hangs then keeps a thread, which ends with the process."""
        closed, loop = asyncio.Event(), asyncio.get_running_loop()

        def close() -> None:
            self._batches.shutdown()  # type: ignore[no-untyped-call]
            with suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(closed.set)

        threading.Thread(target=close, name="end of the traces", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(closed.wait(), CLOSE_SECONDS)
