"""The export of traces that the environment asks for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from server.application import Outside
from server.config.settings import Settings
from server.telemetry.events import CallFinished
from server.tracing.environment import read
from server.tracing.sampler import Sampler
from server.version import VERSION

OPENSEARCH, DYNAMODB = "opensearch", "aws.dynamodb"
CATALOG, STORE = ("catalog", "names"), ("titles", "stock", "releases", "orders", "profile")


def open_tracing(settings: Settings, outside: Outside, stack: AsyncExitStack, environ: Mapping[str, str]) -> Outside:
    """Returns `outside` with it until the stack closes, or as it was where no collector is named. Nothing is asked of the
    collector yet. Raises `SettingError`."""
    traces = read(environ)
    if traces is None:
        return outside
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    from server.tracing.sending import Sender
    from server.tracing.spans import SpansOf

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, where they say something, are what counts.
    own = Resource.create({"service.name": "manga-tools", "service.version": VERSION})
    resource = own.merge(OTELResourceDetector().detect())
    sender, spans_of = Sender(traces.endpoint), SpansOf(resource, systems(settings))
    stack.push_async_callback(sender.aclose)

    def sink(event: CallFinished) -> None:
        if event.timeline is not None and event.timeline.sampled:
            sender.send(spans_of(event, event.timeline, time.time_ns()))

    sampler = Sampler(traces.sampling, outside.clocks.monotonic)
    return replace(outside, sinks=(*outside.sinks, sink), observers=(*outside.observers, sampler))


def systems(settings: Settings) -> dict[str, str]:
    """The databases behind the backends that are not in this process, in the names of the conventions."""
    catalog = {} if settings.catalog_url.startswith("embedded") else dict.fromkeys(CATALOG, OPENSEARCH)
    store = dict.fromkeys(STORE, DYNAMODB) if settings.store_url.startswith("dynamodb") else {}
    return catalog | store
