"""OpenTelemetry's own environment variables for traces, which have no MANGA_ prefix: checked here, and read by the SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.config.parsing import SettingError, integer, match, parse_setting, require
from server.config.urls import address, check_http

ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
SAMPLER, SAMPLER_ARG = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
DEFAULT_RATIO = 0.05
"""Share of the calls whose caller has not decided. OpenTelemetry's default, all, is too much at a shop's load."""
MOST_WAITING = 8_192
"""Spans in the queue, some 20 a call; the oldest are dropped beyond it. A batch has at most as many."""
_PARENT_BASED = "parentbased_"


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
_PROTOCOL = match("http/protobuf", "has to be http/protobuf: nothing else is in this server")
_COMPRESSION = match("gzip|deflate|none", "has to be gzip or deflate or none: nothing else is in this server")
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
            "PROTOCOL": _PROTOCOL,
            "COMPRESSION": _COMPRESSION,
            "HEADERS": _PAIRS,
            **dict.fromkeys(("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"), _FILE),
        }.items()
    },
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """A `ratio` from 0 to 1. With `parent_based` the caller's decision precedes it."""

    parent_based: bool = True
    ratio: float = DEFAULT_RATIO


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """The URL that spans are posted to, and the sampling."""

    endpoint: str
    sampling: Sampling = Sampling()


def read_trace_settings(environ: Mapping[str, str]) -> TraceSettings | None:
    """Returns None where no collector is named. Raises `SettingError`, which names the variable and never its value."""
    given = {name: text for name, text in environ.items() if name.startswith("OTEL_") and text.strip()}
    if (
        given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
        or given.get("OTEL_TRACES_EXPORTER", "").strip() == "none"
    ):
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
    return TraceSettings(endpoint, Sampling(sampler.startswith(_PARENT_BASED), ratio))
