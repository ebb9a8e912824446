"""Opens the export of traces that the environment variables ask for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from server.application import Environment
from server.call import Call
from server.config.settings import Settings
from server.telemetry.events import CallFinished, TraceContext
from server.tracing.environment import Sampling, read_trace_settings
from server.version import VERSION
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate

BY_CALLERS = Rate(per_second=50, burst=100)
"""Calls sampled by their callers' decision; beyond it the ratio decides, so that callers cannot cause unlimited exports."""
BITS = 64
"""The lower bits of a trace id, which are random everywhere."""


class Sampler:
    """An observer that samples by the caller's decision, else by ratio of the trace id, so that processes agree."""

    traces = True

    def __init__(self, sampling: Sampling, clock: Clock, draw: Callable[[int], int] = random.getrandbits) -> None:
        self._parent_based = sampling.parent_based
        self._below = round(sampling.ratio * (1 << BITS))
        self._limits = LocalLimits(BY_CALLERS, clock, capacity=1)
        self._draw = draw

    def wants(self, call: Call) -> bool:
        caller = TraceContext.read(call.metadata.traceparent)
        if caller is None:
            return self._draw(BITS) < self._below
        if self._parent_based and not caller.sampled:
            return False
        if self._parent_based and not self._limits.wait_ms("callers"):
            return True
        return caller.trace_id % (1 << BITS) < self._below


OPENSEARCH, DYNAMODB = "opensearch", "aws.dynamodb"
CATALOG, STORE = ("catalog", "names"), ("titles", "stock", "releases", "orders", "profile")


def open_tracing(settings: Settings, env: Environment, stack: AsyncExitStack, environ: Mapping[str, str]) -> Environment:
    """Adds the exporter to `env` until the stack closes, where a collector is named; does not connect yet. Raises
    `SettingError`."""
    traces = read_trace_settings(environ)
    if traces is None:
        return env
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    from server.tracing.sending import Sender, SpansOf

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    own = Resource.create({"service.name": "manga-tools", "service.version": VERSION})
    resource = own.merge(OTELResourceDetector().detect())
    sender, spans_of = Sender(traces.endpoint), SpansOf(resource, systems(settings))
    stack.push_async_callback(sender.aclose)

    def sink(event: CallFinished) -> None:
        if event.timeline is not None and event.timeline.sampled:
            sender.send(spans_of(event, event.timeline, time.time_ns()))

    sampler = Sampler(traces.sampling, env.clocks.monotonic)
    return replace(env, sinks=(*env.sinks, sink), observers=(*env.observers, sampler))


def systems(settings: Settings) -> dict[str, str]:
    """The databases behind remote backends, by the names of the semantic conventions."""
    catalog = {} if settings.catalog_url.startswith("embedded") else dict.fromkeys(CATALOG, OPENSEARCH)
    store = dict.fromkeys(STORE, DYNAMODB) if settings.store_url.startswith("dynamodb") else {}
    return catalog | store
