"""What OpenTelemetry's own environment variables say of traces. They are everybody's, so they have no MANGA_ before them.

Those that are only checked here (headers, certificates, compression, batches) the exporter and the SDK read themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from server.config.parsing import SettingError

T = TypeVar("T")
ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
SAMPLER, SAMPLER_ARG = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
PROTOCOL = "http/protobuf"
DEFAULT_RATIO = 0.05
"""Of the calls whose caller has not decided. OpenTelemetry's own default, all of them, is too much at a shop's load."""
COMPRESSIONS = ("gzip", "deflate", "none")
MOST_WAITING = 8_192
"""Spans, some 20 of a call. What finds no room takes the place of the oldest; a batch can have no more."""
LONGEST_DELAY_MS = 3_600_000
SAMPLERS = ("always_on", "always_off", "traceidratio")


@dataclass(frozen=True, slots=True)
class Sampling:
    """`ratio` from 0 to 1. What a caller has decided counts before it where it is `parent_based`."""

    parent_based: bool = True
    ratio: float = DEFAULT_RATIO


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """`endpoint` is where spans are posted to."""

    endpoint: str
    sampling: Sampling = Sampling()


def read(environ: Mapping[str, str]) -> TraceSettings | None:
    """None where there is nothing to export to. Raises `SettingError`."""
    given = {name: value.strip() for name, value in environ.items() if name.startswith("OTEL_") and value.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true" or given.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return None
    if (endpoint := _endpoint(given)) is None:
        return None
    _checked(given, "OTEL_TRACES_EXPORTER", lambda text: _one_of(text, ("otlp", "none")))
    for name in ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"):
        _checked(given, name, lambda text: _one_of(text, (PROTOCOL,)))
    for name in ("OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"):
        _checked(given, name, lambda text: _one_of(text, COMPRESSIONS))
    _checked(given, "OTEL_BSP_SCHEDULE_DELAY", lambda text: _up_to(text, LONGEST_DELAY_MS))
    _checked(given, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", lambda text: _up_to(text, MOST_WAITING))
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_RESOURCE_ATTRIBUTES"):
        _checked(given, name, _pairs)
    for kind in ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"):
        for signal in ("", "TRACES_"):
            _checked(given, f"OTEL_EXPORTER_OTLP_{signal}{kind}", _file)
    return TraceSettings(endpoint, _sampling(given))


def _checked(given: Mapping[str, str], name: str, rule: Callable[[str], T]) -> T | None:
    """The value by its rule, None where there is none. The message names the variable and never its value."""
    if (text := given.get(name)) is None:
        return None
    try:
        return rule(text)
    except SettingError as error:
        raise SettingError(f"{name} {error}") from None


def _endpoint(given: Mapping[str, str]) -> str | None:
    if (own := _checked(given, TRACES_ENDPOINT, _address)) is not None:
        return own
    base = _checked(given, ENDPOINT, _base)
    return None if base is None else f"{base.removesuffix('/')}/v1/traces"


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SettingError("is no address") from None
    if parts.scheme not in ("http", "https") or not host:
        raise SettingError("has to be the address of a collector, as in http://localhost:4318")
    if parts.username is not None or parts.password is not None:
        raise SettingError("holds a name or password, which belong into OTEL_EXPORTER_OTLP_HEADERS")
    return text


def _base(text: str) -> str:
    if "?" in text or "#" in text:
        raise SettingError("goes on behind its path: what is sent along belongs into OTEL_EXPORTER_OTLP_HEADERS")
    return _address(text)


def _up_to(text: str, most: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SettingError(f"has to be a whole number from 1 to {most}")
    return int(text)


def _one_of(text: str, names: tuple[str, ...]) -> str:
    if text not in names:
        raise SettingError(f"has to be {' or '.join(names)}: nothing else is in this server")
    return text


def _pairs(text: str) -> str:
    if any(not each.partition("=")[0].strip() or "=" not in each for each in text.split(",") if each.strip()):
        raise SettingError("has to be name=value, and further ones after commas")
    return text


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise SettingError("has to name a file")
    return Path(text)


def _sampling(given: Mapping[str, str]) -> Sampling:
    name = _checked(given, SAMPLER, _sampler) or "parentbased_traceidratio"
    parent_based, own = name.startswith("parentbased_"), name.removeprefix("parentbased_")
    if own != "traceidratio":
        return Sampling(parent_based, 1.0 if own == "always_on" else 0.0)
    ratio = _checked(given, SAMPLER_ARG, _ratio)
    return Sampling(parent_based, DEFAULT_RATIO if ratio is None else ratio)


def _sampler(text: str) -> str:
    if text.removeprefix("parentbased_") not in SAMPLERS:
        raise SettingError(f"has to be {', '.join(SAMPLERS)}, each with or without parentbased_ before it")
    return text


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise SettingError("has to be a number from 0 to 1")
    return ratio
