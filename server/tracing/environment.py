"""OpenTelemetry's own environment variables for traces, which have no MANGA_ prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from server.config.parsing import SettingError

T = TypeVar("T")
ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
SAMPLER, SAMPLER_ARG = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
PROTOCOL = "http/protobuf"
DEFAULT_RATIO = 0.05
"""Share of the calls whose caller has not decided. OpenTelemetry's default, all, is too much at a shop's load."""
COMPRESSIONS = ("gzip", "deflate", "none")
MOST_WAITING = 8_192
"""Spans in the queue, some 20 a call; the oldest are dropped beyond it. A batch has at most as many."""
LONGEST_DELAY_MS = 3_600_000
SAMPLERS = ("always_on", "always_off", "traceidratio")


def _up_to(text: str, most: int) -> None:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SettingError(f"has to be a whole number from 1 to {most}")


def _one_of(text: str, names: tuple[str, ...]) -> None:
    if text not in names:
        raise SettingError(f"has to be {' or '.join(names)}: nothing else is in this server")


def _pairs(text: str) -> None:
    if any(not each.partition("=")[0].strip() or "=" not in each for each in text.split(",") if each.strip()):
        raise SettingError("has to be name=value, and further ones after commas")


def _file(text: str) -> None:
    if not Path(text).is_file():
        raise SettingError("has to name a file")


# Checked here, and read by the exporter and the SDK.
RULES: dict[str, Callable[[str], None]] = {
    "OTEL_TRACES_EXPORTER": partial(_one_of, names=("otlp", "none")),
    "OTEL_EXPORTER_OTLP_PROTOCOL": partial(_one_of, names=(PROTOCOL,)),
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": partial(_one_of, names=(PROTOCOL,)),
    "OTEL_EXPORTER_OTLP_COMPRESSION": partial(_one_of, names=COMPRESSIONS),
    "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": partial(_one_of, names=COMPRESSIONS),
    "OTEL_BSP_SCHEDULE_DELAY": partial(_up_to, most=LONGEST_DELAY_MS),
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": partial(_up_to, most=MOST_WAITING),
    "OTEL_EXPORTER_OTLP_HEADERS": _pairs,
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS": _pairs,
    "OTEL_RESOURCE_ATTRIBUTES": _pairs,
    **{
        f"OTEL_EXPORTER_OTLP_{signal}{kind}": _file
        for kind in ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE")
        for signal in ("", "TRACES_")
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


def read(environ: Mapping[str, str]) -> TraceSettings | None:
    """None where no collector is named. Raises `SettingError`."""
    given = {name: value.strip() for name, value in environ.items() if name.startswith("OTEL_") and value.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true" or given.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return None
    if (endpoint := _endpoint(given)) is None:
        return None
    for name, rule in RULES.items():
        _parse_variable(given, name, rule)
    return TraceSettings(endpoint, _sampling(given))


def _parse_variable(given: Mapping[str, str], name: str, rule: Callable[[str], T]) -> T | None:
    """The value by its rule, None where it is absent. An error names the variable and never its value."""
    if (text := given.get(name)) is None:
        return None
    try:
        return rule(text)
    except SettingError as error:
        raise SettingError(f"{name} {error}") from None


def _endpoint(given: Mapping[str, str]) -> str | None:
    if (own := _parse_variable(given, TRACES_ENDPOINT, _address)) is not None:
        return own
    base = _parse_variable(given, ENDPOINT, _base)
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


def _sampling(given: Mapping[str, str]) -> Sampling:
    name = _parse_variable(given, SAMPLER, _sampler) or "parentbased_traceidratio"
    parent_based, own = name.startswith("parentbased_"), name.removeprefix("parentbased_")
    if own != "traceidratio":
        return Sampling(parent_based, 1.0 if own == "always_on" else 0.0)
    ratio = _parse_variable(given, SAMPLER_ARG, _ratio)
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
