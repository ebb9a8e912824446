"""Opens the export of traces, as OpenTelemetry's environment variables configure it. This module checks the variables; the
OpenTelemetry SDK reads most of them by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from server.application import Environment
from server.call import Call
from server.config.parsing import SettingError, address, check_http, integer, match, parse_setting, require
from server.config.settings import Settings
from server.telemetry.events import CallFinished, TraceContext
from server.version import VERSION
from session.resilience.clocks import Clock
from session.resilience.rate_limit import LocalLimits, Rate

ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
SAMPLER, SAMPLER_ARG = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
DEFAULT_RATIO = 0.05
"""Sampled share of calls whose caller sends no decision. OpenTelemetry's default, 1.0, is too much at a shop's load."""
MOST_WAITING = 8_192
"""Maximum queued spans (a call has some 20); beyond that the oldest are dropped. Also the maximum size of a batch."""
_PARENT_BASED = "parentbased_"
BY_CALLERS = Rate(per_second=50, burst=100)
"""Limit of calls sampled by their callers' decision; above it the ratio decides, so that exports stay bounded."""
BITS = 64
"""Sampling uses the lower 64 bits of a trace id, which every vendor draws at random."""


def _parse_ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise SettingError("has to be a number from 0 to 1")
    return ratio


def _parse_base(text: str) -> str:
    if "?" in text or "#" in text:
        raise SettingError("goes on behind its path: what is sent along belongs into OTEL_EXPORTER_OTLP_HEADERS")
    return _parse_endpoint(text)


_parse_endpoint = address({"http": check_http, "https": check_http})
_PAIRS = match(
    r"(?:\s*[^\s,=][^,=]*=[^,]*|\s*)(?:,(?:\s*[^\s,=][^,=]*=[^,]*|\s*))*", "has to be name=value, and so on, by commas"
)
_FILE = require(lambda text: Path(text).is_file(), "has to name a file")
PARSERS: dict[str, Callable[[str], Any]] = {
    TRACES_ENDPOINT: _parse_endpoint,
    "OTEL_TRACES_EXPORTER": match("otlp|none", "has to be otlp or none: nothing else is in this server"),
    "OTEL_BSP_SCHEDULE_DELAY": integer(1, 3_600_000),
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": integer(1, MOST_WAITING),
    "OTEL_RESOURCE_ATTRIBUTES": _PAIRS,
    SAMPLER: match(
        rf"(?:{_PARENT_BASED})?(?:always_on|always_off|traceidratio)",
        f"has to be always_on, always_off or traceidratio, each with or without {_PARENT_BASED} before it",
    ),
    **{
        f"OTEL_EXPORTER_OTLP_{signal}{kind}": parse
        for signal in ("", "TRACES_")
        for kind, parse in {
            "PROTOCOL": match("http/protobuf", "has to be http/protobuf: nothing else is in this server"),
            "COMPRESSION": match("gzip|deflate|none", "has to be gzip or deflate or none: nothing else is in this server"),
            "HEADERS": _PAIRS,
            **dict.fromkeys(("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"), _FILE),
        }.items()
    },
}


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """`endpoint` is the URL to which spans are posted, and `ratio` (0 to 1) the share of calls that are sampled. If
    `parent_based`, the caller's sampling decision takes precedence."""

    endpoint: str
    parent_based: bool = True
    ratio: float = DEFAULT_RATIO


def read_trace_settings(environ: Mapping[str, str]) -> TraceSettings | None:
    """Reads the variables. Returns None if no collector is set or the export is off. Raises `SettingError` with the
    variable's name, without its value."""
    given = {name: text.strip() for name, text in environ.items() if name.startswith("OTEL_") and text.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true" or given.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    if TRACES_ENDPOINT not in given and ENDPOINT not in given:
        return None
    values = {name: parse_setting(name, given[name], parse) for name, parse in PARSERS.items() if name in given}
    if (endpoint := values.get(TRACES_ENDPOINT)) is None:
        endpoint = f"{parse_setting(ENDPOINT, given[ENDPOINT], _parse_base).removesuffix('/')}/v1/traces"
    sampler = values.get(SAMPLER, "parentbased_traceidratio")
    ratio = {"always_on": 1.0, "always_off": 0.0}.get(sampler.removeprefix(_PARENT_BASED))
    if ratio is None:
        ratio = parse_setting(SAMPLER_ARG, given[SAMPLER_ARG], _parse_ratio) if SAMPLER_ARG in given else DEFAULT_RATIO
    return TraceSettings(endpoint, sampler.startswith(_PARENT_BASED), ratio)


class Sampler:
    """An observer that chooses the calls to trace. If `parent_based`, it follows the caller's decision; the calls that it
    samples for this reason are limited to `BY_CALLERS`. Of all other calls it samples a share, chosen by the trace id if the
    caller sends one, so that all processes decide alike."""

    traces = True

    def __init__(self, sampling: TraceSettings, clock: Clock, draw: Callable[[int], int] = random.getrandbits) -> None:
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


def open_tracing(settings: Settings, env: Environment, stack: AsyncExitStack, environ: Mapping[str, str]) -> Environment:
    """Returns `env`, with an exporter of traces until `stack` closes if a collector is set. Raises `SettingError`."""
    traces = read_trace_settings(environ)
    if traces is None:
        return env
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    from server.tracing.sending import close_batches, open_batches, spans_of

    # Merged so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    own = Resource.create({"service.name": "manga-tools", "service.version": VERSION})
    resource = own.merge(OTELResourceDetector().detect())
    batches = open_batches(traces.endpoint, MOST_WAITING)
    databases: dict[str, str] = {}  # each remote backend's, as OpenTelemetry's semantic conventions name it
    if not settings.catalog_url.startswith("embedded"):
        databases |= dict.fromkeys(("catalog", "names"), "opensearch")
    if settings.store_url.startswith("dynamodb"):
        databases |= dict.fromkeys(("titles", "stock", "releases", "orders", "profile"), "aws.dynamodb")
    stack.push_async_callback(close_batches, batches)

    def sink(event: CallFinished) -> None:
        if event.timeline is not None and event.timeline.sampled:
            for span in spans_of(event, event.timeline, time.time_ns(), resource, databases):
                batches.on_end(span)

    return replace(env, sinks=(*env.sinks, sink), observers=(*env.observers, Sampler(traces, env.clocks.monotonic)))
