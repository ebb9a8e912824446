from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from server.call import Call
from server.telemetry.events import CallFinished
from server.telemetry.service_levels import BAD, GOOD, IN_TIME, LEVELS, USABLE, usable
from server.version import VERSION
from session.resilience.breaker import BreakerState, CircuitBreaker, Outage
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate

logger = logging.getLogger(__name__)


def log_breaker_changes(clock: Clock = time.monotonic) -> Callable[[str, BreakerState, str], None]:
    """Returns a callback for circuit breakers that logs the start and the end of a backend's outage, once each."""
    outages: dict[str, Outage] = {}

    def record(backend: str, state: BreakerState, why: str) -> None:
        outage = outages.setdefault(backend, Outage(logger, f"the {backend} backend, by its breaker,", clock=clock))
        if state is BreakerState.OPEN:
            outage.record_failure(why)
        elif state is BreakerState.CLOSED:
            outage.record_recovery()

    return record


BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0)
LATE_SECONDS = 0.02
"""Seconds by which an answer may exceed its call's deadline: for the last fallback, the record, and the socket."""
MOST_VARIANTS = 50
STATES = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}
SCRAPES = Rate(20, 100)
"""Rate limit for serialising the metrics, for each content type. A scrape beyond it gets the last text."""
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class Metrics:
    """Prometheus metrics, and a sink that counts calls. Labels have few, bounded values, and no label identifies a user."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, buckets=BUCKETS, registry=self.registry)
        self._calls = counter(
            "manga_calls", "Tool calls by outcome, source and variant.", ["tool", "outcome", "source", "variant"]
        )
        self._seconds = histogram("manga_call_seconds", "From arrival to outcome.", ["tool", "variant"])
        self._answer_seconds = histogram("manga_answer_seconds", "From arrival to the answer's last byte.", ["transport"])
        self._late = counter("manga_answers_late", "Answers over 20 ms past their call's deadline.", ["tool"])
        levels = counter("manga_service_level", "Verdicts on answers, by the level that is promised.", ["level", "verdict"])
        self._levels = {each: {True: levels.labels(each, GOOD), False: levels.labels(each, BAD)} for each in LEVELS}
        self._degraded = counter("manga_calls_degraded", "Answers that had to do without something.", ["what"])
        self._profile_events = counter("manga_profile_events", "Events for customers' profiles, by result.", ["result"])
        self._breakers = gauge("manga_breaker_state", "0 closed, 1 half open, 2 open.", ["backend"])
        self._empty = counter("manga_empty_searches", "Searches that went well and found nothing.", ["tool"])
        self._refusals = counter("manga_refusals", "Requests refused before they were calls, by outcome.", ["kind"])
        self._deaths = counter("manga_background_deaths", "Background tasks that died and were begun again.", ["task"])
        self._ready = gauge("manga_ready", "1 while calls are taken, 0 while starting or draining.")
        self._under_way = gauge("manga_calls_under_way", "Calls being answered now.")
        self.lag = gauge("manga_replica_lag_seconds", "Since a copy was last as its source is.", ["replica"])
        self.connections_held = gauge("manga_connections_held", "Open connections that give their place to no other.")
        self.connections_most = gauge("manga_connections_most", "Connections that can be open at once.")
        self.streams = gauge("manga_sse_streams", "Open SSE streams.")
        build = Info("manga_build", "The server's version.", registry=self.registry)
        build.info({"version": VERSION, "python": platform.python_version(), "sdk": version("mcp")})
        ProcessCollector(registry=self.registry)
        self._series_by_labels: dict[tuple[str, str, str | None, str], tuple[Counter, Histogram]] = {}
        self._variants: set[str] = set()
        self._scrapes, self._texts = LocalLimits(SCRAPES), dict[str, bytes]()

    def __call__(self, event: CallFinished) -> None:
        calls, seconds = self._series(event)
        calls.inc()
        sampled = event.timeline is not None and event.timeline.sampled
        seconds.observe(event.milliseconds / 1000, event.trace if sampled else None)
        if (verdict := usable(event)) is not None:
            self._levels[USABLE][verdict].inc()
        for what in event.degraded:
            self._degraded.labels(what).inc()
        if event.empty:
            self._empty.labels(event.tool).inc()

    def _series(self, event: CallFinished) -> tuple[Counter, Histogram]:
        variant = self._variant(event.variant)
        key = (event.tool, event.outcome, event.source, variant)
        series = self._series_by_labels.get(key)
        if series is None:
            calls = self._calls.labels(event.tool, event.outcome, event.source or "none", variant)
            series = self._series_by_labels[key] = (calls, self._seconds.labels(event.tool, variant))
        return series

    def _variant(self, variant: str | None) -> str:
        """Returns the label for a variant; "none" for None, "other" for each new one after the first `MOST_VARIANTS`."""
        if variant is None:
            return "none"
        if len(self._variants) < MOST_VARIANTS:
            self._variants.add(variant)
        return variant if variant in self._variants else "other"

    def record_answer_sent(self, call: Call) -> None:
        """Records an answer whose last byte was written to the socket."""
        self._answer_seconds.labels(call.transport).observe(call.elapsed_ms() / 1000)
        late = call.deadline is not None and call.deadline.clock() - call.deadline.at > LATE_SECONDS
        self._levels[IN_TIME][not late].inc()
        if late:
            self._late.labels(call.name).inc()

    def count_profile_event(self, result: str) -> None:
        self._profile_events.labels(result).inc()

    def count_refusal(self, kind: str) -> None:
        """Counts a refused request. `kind` is one of a few names, never a client's text."""
        self._refusals.labels(kind).inc()

    def count_background_death(self, task: str) -> None:
        self._deaths.labels(task).inc()

    def watch(self, under_way: Callable[[], float], ready: Callable[[], float]) -> None:
        """Sets the functions that each scrape calls for the number of running calls, and for readiness (1 or 0)."""
        self._under_way.set_function(under_way)
        self._ready.set_function(ready)

    def watch_breakers(self, breakers: Iterable[CircuitBreaker]) -> None:
        for breaker in breakers:
            self._breakers.labels(breaker.name).set_function(partial(lambda each: STATES[each.state], breaker))

    def watch_lines(self, log: Callable[[], float], audit: Callable[[], float]) -> None:
        self.registry.register(_Counted("manga_log_lines_dropped", "Lines of the log that stderr did not take.", log))
        self.registry.register(_Counted("manga_audit_lines_dropped", "Lines of the audit that were not written.", audit))

    def text_for(self, accept: str) -> tuple[bytes, str]:
        """Returns the metrics and the content type that the Accept header asks for: OpenMetrics with exemplars, or plain
        text. Beyond the rate `SCRAPES` the last text is returned again, since serialising takes several ms."""
        encode, content_type = choose_encoder(OPENMETRICS if "application/openmetrics-text" in accept else "")
        if content_type not in self._texts or self._scrapes.wait_ms(content_type) == 0:
            self._texts[content_type] = encode(self.registry)
        return self._texts[content_type], content_type


class _Counted(Collector):
    def __init__(self, name: str, about: str, read: Callable[[], float]) -> None:
        self._name, self._about, self._read = name, about, read

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._about, value=self._read())
