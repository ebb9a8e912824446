"""Which tracing settings OpenTelemetry's environment variables set, and which values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.config.parsing import SettingError
from server.tracing.opening import DEFAULT_RATIO, TraceSettings, read_trace_settings
from tests.support.cases import cases

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
SECRET = "s3cret"


@cases(
    "given",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_SERVICE_NAME": "a", "OTEL_TRACES_SAMPLER": "nonsense"},
        {**HERE, "OTEL_SDK_DISABLED": "TRUE"},
        {**HERE, "OTEL_TRACES_EXPORTER": "none", "OTEL_TRACES_SAMPLER": "nonsense"},
    ],
)
def test_tracing_is_off_without_an_endpoint(given: dict[str, str]) -> None:
    assert read_trace_settings(given) is None


@cases(
    ("given", "endpoint"),
    [
        (HERE, "http://collector:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/otlp/"}, "https://c/otlp/v1/traces"),
        ({**HERE, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://other/there"}, "http://other/there"),
    ],
)
def test_span_endpoint_is_built_from_the_otel_variables(given: dict[str, str], endpoint: str) -> None:
    assert read_trace_settings(given) == TraceSettings(endpoint)


@cases(
    ("sampler", "argument", "sampling"),
    [
        ("", "", (True, DEFAULT_RATIO)),
        ("", "0.5", (True, 0.5)),
        ("traceidratio", "0", (False, 0)),
        ("always_on", "0.5", (False, 1)),
        ("parentbased_always_on", "", (True, 1)),
        ("parentbased_always_off", "", (True, 0)),
        ("always_off", "", (False, 0)),
    ],
)
def test_sampler_variables_set_parent_based_and_ratio(sampler: str, argument: str, sampling: tuple[bool, float]) -> None:
    found = read_trace_settings({**HERE, "OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument})
    assert found is not None
    assert (found.parent_based, found.ratio) == sampling


@cases(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"collector:4318/{SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"grpc://{SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://[{SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://it:port{SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@collector:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://collector:4318?key={SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://collector:4318/#{SECRET}"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", SECRET),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", f"brotli{SECRET}"),
        ("OTEL_BSP_SCHEDULE_DELAY", f"soon{SECRET}"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-1"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8193"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", f"grpc{SECRET}"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"authorization: Bearer {SECRET}"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"a=1,={SECRET}"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", SECRET),
        ("OTEL_RESOURCE_ATTRIBUTES", f"deployment.environment.name:{SECRET}"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", f"/nowhere/{SECRET}"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_TRACES_SAMPLER", f"jaeger_remote{SECRET}"),
        ("OTEL_TRACES_SAMPLER_ARG", f"half{SECRET}"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5"),
        ("OTEL_TRACES_SAMPLER_ARG", "nan"),
    ],
)
def test_wrong_otel_variable_is_refused_by_name_without_its_value(name: str, value: str) -> None:
    with pytest.raises(SettingError) as told:
        read_trace_settings({**HERE, name: value})
    line = str(told.value)
    assert line.startswith(f"{name}: ")
    assert SECRET not in line
    assert "\n" not in line


def test_valid_otel_variables_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("it")
    right = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20a, x-team=b=c,",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem"),
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_BSP_SCHEDULE_DELAY": "1000",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8192",
    }
    assert read_trace_settings({**HERE, **right}) == read_trace_settings(HERE)
